import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/kernel/base/json.ts";
import { PythonMounts } from "./mounts.ts";

const READ_FILE = fileURLToPath(new URL("../../fixtures/contracts/amplifier/python/read_file.py", import.meta.url));

let mounts: PythonMounts;
beforeAll(async () => {
  mounts = await PythonMounts.open();
}, 300_000);
afterAll(() => mounts.close());

describe("a call", () => {
  test("is denied what it was not granted, and says so where nobody catches it", async () => {
    for (const [act, message] of [
      [`open("/data/new", "w")`, 'the mount "data" is read-only'],
      [`open("/data/out")`, 'a link leads out of the mount "data"'],
      [`os.listdir("/other")`, 'there is no mount "other"'],
    ]) {
      const { error } = await mounts.run(`return ${act}`);
      expect(error?.code).toBe("capability_denied");
      expect(error?.message).toContain(message);
      expect(JSON.stringify(error)).not.toContain(mounts.base);
    }
    const { error } = await mounts.run(`return open("/data/words.txt").read()`, { name: "stranger" });
    expect(error?.code).toBe("capability_denied");
  });

  test("meets the capability's limits as errors of files", async () => {
    const limits = { capabilityCalls: 3 };
    const full = `with open("/scratch/x", "wb", buffering=0) as file:
    for n in range(9): file.write(b"x")`;
    expect((await mounts.run(full, { limits })).error?.code).toBe("capability_limit");
    const caught = `try:\n    ${full.replaceAll("\n", "\n    ")}\nexcept OSError as error:\n    return os.strerror(error.errno)`;
    expect(await mounts.outputOf(caught, { limits })).toBe("No space left on device");
  });

  test("finds nothing in memory of the calls before it, where its module is new", async () => {
    const body = `left = os.listdir("/tmp"), os.listdir(), os.getcwd()
Path("/tmp/left/deep").mkdir(parents=True); Path("here").write_text("x"); os.chdir("/tmp/left")
return left`;
    const name = "files-again";
    expect(await mounts.outputOf(body, { name })).toEqual([[], [], "/tmp"]);
    expect((await mounts.engine.execute({ name, arguments: {} })).output).toEqual([[], [], "/tmp"]);
  });

  test("keeps its files in memory while others begin beside it", async () => {
    const body = `import time
Path("/tmp", input["name"]).touch()
time.sleep(0.05)
return os.path.exists("/tmp/" + input["name"])`;
    const name = "files-beside";
    await mounts.outputOf(body, { name }, { name: "first" });
    const calls = ["a", "b", "c", "d"].map((one) => mounts.engine.execute({ name, arguments: { name: one } }));
    expect((await Promise.all(calls)).map(({ output }) => output)).toEqual([true, true, true, true]);
  });

  test("finds what those before it left, where the module is shared", async () => {
    const body = `kept = os.listdir("/tmp")
Path("/tmp/kept").touch()
return kept`;
    const name = "files-shared";
    expect(await mounts.outputOf(body, { name, isolation: "shared" })).toEqual([]);
    expect((await mounts.engine.execute({ name, arguments: {} })).output).toEqual(["kept"]);
  });

  test("that fills the interpreter's memory with files ends, and the next one works", async () => {
    const body = `if not os.path.exists("/out/once"):
    Path("/out/once").touch()
    with open("/tmp/big", "wb") as file:
        for n in range(400): file.write(b"x" * 1048576)
return os.listdir("/tmp")`;
    const name = "files-bomb";
    expect((await mounts.run(body, { name })).error?.code).toBe("memory_limit");
    expect((await mounts.engine.execute({ name, arguments: {} })).output).toEqual([]);
  });

  test("cannot open a mount's file while its module is loaded, and is told so", async () => {
    const source = `text = open("/data/words.txt").read()\ndef execute(input): return text`;
    const capabilities = { fs: { data: { mode: "ro" } } } as const;
    const registered = mounts.engine.register({
      name: "files-early",
      description: "d",
      runtime: "python",
      source,
      capabilities,
    });
    await expect(registered).rejects.toThrow(/could not be loaded: .*while a module is loaded: do it in the call/);
  });
});

describe("the document's ReadFileTool, unchanged", () => {
  const read = async (args: Record<string, unknown>, config: JsonValue = {}) => {
    await mounts.engine.register({
      name: "read_file",
      description: "Reads",
      runtime: "python",
      source: readFileSync(READ_FILE, "utf8"),
      capabilities: { fs: { data: { mode: "ro" } } },
      config,
    });
    return mounts.engine.execute({ name: "read_file", arguments: args });
  };

  const failureOf = async (args: Record<string, unknown>, config: JsonValue = {}) => {
    const { error } = await read(args, config);
    return [error?.type, error?.message];
  };

  test("[B20 B28 B29] reads a file of a mount in the coding that it is told", async () => {
    const metadata = { path: "/data/words.txt", size: 11 };
    expect(await read({ path: "/data/words.txt" })).toMatchObject({ output: "größe\nzwei\n", metadata });
    expect((await read({ path: "/data/words.txt", encoding: "latin-1" })).output).toBe("grÃ¶Ã\u009fe\nzwei\n");
    expect(await failureOf({ path: "/data/words.txt", encoding: "none" })).toEqual([
      "LookupError",
      "unknown encoding: none",
    ]);
  });

  test("[B22 B25 B26 B27] says what is too large, and what is not there", async () => {
    const tooLarge = (bytes: number) => ["FileTooLarge", `File exceeds max size (${bytes} bytes)`];
    expect(await failureOf({ path: "/data/big" })).toEqual(tooLarge(1_048_576));
    expect(await failureOf({ path: "/data/words.txt" }, { max_size: 13 })).toEqual(tooLarge(13));
    expect((await read({ path: "/data/words.txt" }, { max_size: 14 })).success).toBe(true);
    expect(await failureOf({ path: "/data/none.txt" })).toEqual([
      "FileNotFoundError",
      "File not found: /data/none.txt",
    ]);
  });

  test("[B21 B23 B24] reads what is allowed by where it really is, and granted", async () => {
    const refused = ["PermissionError", "Path not allowed"];
    expect(await failureOf({ path: "/data/../secret.txt" }, { allowed_paths: ["/data"] })).toEqual(refused);
    expect(await failureOf({ path: "/data/sub/../words.txt" }, { allowed_paths: ["/data/sub"] })).toEqual(refused);
    expect(await failureOf({ path: "/data/link" }, { allowed_paths: ["/data/link"] })).toEqual([undefined, undefined]);
    expect(await failureOf({ path: "/data/link" }, { allowed_paths: ["/data/sub"] })).toEqual(refused);
    expect(await failureOf({ path: "/data/words.txt" }, { allowed_paths: ["/data/words"] })).toEqual(refused);
    expect((await read({ path: "/data/words.txt" }, { allowed_paths: ["/data"] })).success).toBe(true);
    expect(await failureOf({ path: "/out/x" })).toEqual([
      "PermissionError",
      expect.stringContaining('there is no mount "out"') as unknown,
    ]);
  });
});
