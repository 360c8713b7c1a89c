import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { referenceTool } from "../../../../src/contrib/amplifier/reference-tools.ts";
import { createEngine, type Engine, type JsonValue } from "../../../../src/glovebox/index.ts";

const NAMES = ["edit_file", "list_directory", "read_file", "write_file"];

let engine: Engine;
let base: string;
let folder: string;

beforeAll(async () => {
  base = realpathSync(mkdtempSync(path.join(tmpdir(), "glovebox-files-")));
  folder = path.join(base, "folder");
  mkdirSync(folder);
  writeFileSync(path.join(base, "secret.txt"), "secret");
  const mounts = { data: { path: folder, mode: "rw" }, fixed: { path: folder, mode: "ro" } } as const;
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    maxLimits: { outputBytes: 16 * 1024 * 1024, capabilityBytes: 32 * 1024 * 1024 },
    policy: { rules: [{ allow: { fs: mounts } }] },
  });
});

afterAll(async () => {
  await engine.close();
  rmSync(base, { recursive: true });
});

beforeEach(() => mount({}));

async function mount(config: JsonValue): Promise<void> {
  const capabilities = { fs: { data: { mode: "rw" }, fixed: { mode: "ro" } } } as const;
  await engine.register({ path: referenceTool("filesystem"), config, capabilities });
}

function put(name: string, content: string | Uint8Array): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), content);
}

const call = (name: string, args: Record<string, unknown>) => engine.execute({ name, arguments: args });
const read = (file: string, more: object = {}) => call("read_file", { path: file, ...more });

/** What a failed call says, without what all have. */
async function failureOf(promise: ReturnType<typeof call>): Promise<{ type?: string; message?: string }> {
  const { success, error } = await promise;
  expect(success).toBe(false);
  return { type: error?.type ?? "", message: error?.message ?? "" };
}

const NOT_ALLOWED = { type: "PermissionError", message: "Path not allowed" };

test("files have four tools, which are Amplifier's and run in isolates [A43]", () => {
  const tools = engine.list().filter(({ name }) => NAMES.includes(name));
  expect(tools.map(({ name, contract, isolation }) => [name, contract, isolation])).toEqual(
    NAMES.map((name) => [name, "amplifier", "instance"]),
  );
});

describe("read_file", () => {
  test("is described as the guide describes it [B20]", () => {
    const info = engine.get("read_file");
    expect(info?.description).toBe("Read the contents of a file");
    expect(info?.inputSchema).toEqual({
      type: "object",
      properties: {
        path: { type: "string", description: "File path" },
        encoding: { type: "string", default: "utf-8" },
      },
      required: ["path"],
    });
  });

  test("gives the text, and how long it is in characters [B28]", async () => {
    put("a.txt", "naïve 😀\n");
    const { output, metadata } = await read("/data/a.txt");
    expect([output, metadata["path"], metadata["size"]]).toEqual(["naïve 😀\n", "/data/a.txt", 8]);
  });

  test("reads whatever is mounted where no paths are named [B21]", async () => {
    put("deep/er/x.txt", "x");
    for (const config of [{}, { allowed_paths: [] }]) {
      await mount(config);
      expect((await read("/data/deep/er/x.txt")).output).toBe("x");
      expect((await read("/fixed/deep/er/x.txt")).output).toBe("x");
    }
  });

  test("reads nothing that is not mounted, whatever paths are named [B21 F8]", async () => {
    symlinkSync(path.join(base, "secret.txt"), path.join(folder, "out"));
    for (const config of [{}, { allowed_paths: ["/"] }, { allowed_paths: [base] }]) {
      await mount(config);
      for (const file of ["/etc/passwd", path.join(base, "secret.txt"), "/data/../secret.txt", "/data/out"]) {
        const { success, error, output } = await read(file);
        expect([success, output, error?.type]).toEqual([false, null, "PermissionError"]);
        expect(error?.message).not.toContain(folder);
      }
    }
  });

  test("reads only below the paths that are named [B23]", async () => {
    put("in/x.txt", "in");
    put("other/x.txt", "other");
    await mount({ allowed_paths: ["/data/in", "/data/other/y"] });
    expect((await read("/data/in/x.txt")).output).toBe("in");
    expect(await failureOf(read("/data/other/x.txt"))).toEqual(NOT_ALLOWED);
    expect(await failureOf(read("/data"))).toEqual(NOT_ALLOWED);
    expect(await failureOf(read("/data/other/none.txt"))).toEqual(NOT_ALLOWED);
  });

  test("sees through dots, links and names that only begin alike [B24]", async () => {
    put("b/x.txt", "allowed");
    put("bc/x.txt", "forbidden");
    put("b.txt", "forbidden");
    symlinkSync("../bc/x.txt", path.join(folder, "b/link"));
    symlinkSync("../bc", path.join(folder, "b/folder"));
    symlinkSync("b", path.join(folder, "again"));
    await mount({ allowed_paths: ["/data/b"] });
    for (const file of [
      "/data/b/../bc/x.txt",
      "/data/bc/x.txt",
      "/data/b.txt",
      "/data/b/link",
      "/data/b/folder/x.txt",
    ]) {
      expect(await failureOf(read(file))).toEqual(NOT_ALLOWED);
    }
    for (const file of ["/data/b/x.txt", "/data/b/../b/./x.txt", "//data//b//x.txt", "/data/again/x.txt"]) {
      expect((await read(file)).output).toBe("allowed");
    }
    await mount({ allowed_paths: ["/data/again/"] });
    expect((await read("/data/b/x.txt")).output).toBe("allowed");
  });

  test("reads a file that is as long as it may be, and no longer one [B25 B26]", async () => {
    put("ten.txt", "x".repeat(10));
    put("eleven.txt", "x".repeat(11));
    await mount({ max_size: 10 });
    expect((await read("/data/ten.txt")).output).toBe("x".repeat(10));
    expect(await failureOf(read("/data/eleven.txt"))).toEqual({
      type: "FileTooLarge",
      message: "File exceeds max size (10 bytes)",
    });
  });

  test("does not ask for the bytes of a file that is too long [B25]", async () => {
    put("long.txt", "x".repeat(11));
    await mount({ max_size: 10 });
    const methods: string[] = [];
    const listen = ({ method }: { readonly method: string }) => void methods.push(method);
    engine.on("capability:call", listen);
    await read("/data/long.txt");
    engine.off("capability:call", listen);
    expect(methods).toEqual(["stat"]);
  });

  test("reads a mebibyte where nothing is said, whatever is in it [B22 B26]", async () => {
    put("most.txt", new Uint8Array(1_048_576).fill(1));
    put("more.txt", new Uint8Array(1_048_577).fill(1));
    expect((await read("/data/most.txt")).metadata["size"]).toBe(1_048_576);
    expect((await failureOf(read("/data/more.txt"))).message).toBe("File exceeds max size (1048576 bytes)");
  });

  test("names a file that is missing by the path that it was given [B27]", async () => {
    const missing = { type: "FileNotFoundError", message: "File not found: /data/none/../none.txt" };
    expect(await failureOf(read("/data/none/../none.txt"))).toEqual(missing);
    await mount({ allowed_paths: ["/data"] });
    expect(await failureOf(read("/data/none/../none.txt"))).toEqual(missing);
    expect(await failureOf(read("/data/no/such/folder"))).toMatchObject({ type: "FileNotFoundError" });
  });

  test("says what kind of error any other is [B29]", async () => {
    put("bytes.bin", new Uint8Array([0x61, 0xff]));
    put("folder/x", "");
    const outcomes: readonly (readonly [file: string, more: object, type: string, message: RegExp])[] = [
      ["/data/bytes.bin", {}, "UnicodeDecodeError", /'utf-8' codec/],
      ["/data/bytes.bin", { encoding: "ascii" }, "UnicodeDecodeError", /'ascii' codec .* at 1/],
      ["/data/bytes.bin", { encoding: "klingon" }, "LookupError", /^unknown encoding: klingon$/],
      ["/data/folder", {}, "IsADirectoryError", /EISDIR/],
      ["/data/folder/x/y", {}, "NotADirectoryError", /ENOTDIR/],
      ["/other/x", {}, "PermissionError", /no mount "other"/],
    ];
    for (const [file, more, type, message] of outcomes) {
      expect(await failureOf(read(file, more))).toEqual({ type, message: expect.stringMatching(message) });
    }
  });

  test("reads the encodings that it is asked for", async () => {
    put("latin.txt", new Uint8Array([0xe9, 0x80]));
    put("wide.txt", Buffer.from("hé", "utf16le"));
    expect((await read("/data/latin.txt", { encoding: "latin-1" })).output).toBe("\u00e9\u0080");
    expect((await read("/data/wide.txt", { encoding: "UTF_16_LE" })).output).toBe("hé");
  });
});

describe("write_file", () => {
  const write = (file: string, content: string) => call("write_file", { path: file, content });

  test("makes a file, and replaces it", async () => {
    expect((await write("/data/new.txt", "één")).output).toBe("Wrote 3 characters to /data/new.txt");
    await write("/data/new.txt", "two");
    expect(readFileSync(path.join(folder, "new.txt"), "utf8")).toBe("two");
  });

  test("writes nothing elsewhere, through no link, and nothing too long", async () => {
    put("w/x", "");
    symlinkSync("../made-by-a-link.txt", path.join(folder, "w/dangling"));
    await mount({ allowed_paths: ["/data/w", "/fixed/w"], max_size: 4 });
    expect(await failureOf(write("/data/out.txt", "x"))).toEqual(NOT_ALLOWED);
    expect(await failureOf(write("/data/w/dangling", "x"))).toEqual(NOT_ALLOWED);
    expect(await failureOf(write("/data/w/dangling/../../x", "x"))).toEqual(NOT_ALLOWED);
    expect(await failureOf(write("/data/w/long.txt", "ééé"))).toEqual({
      type: "FileTooLarge",
      message: "Content exceeds max size (4 bytes)",
    });
    expect((await write("/data/w/y.txt", "éé")).success).toBe(true);
  });

  test("says that a mount cannot be written to, in the words of who refused it [B39]", async () => {
    put("fixed.txt", "before");
    expect(await failureOf(write("/fixed/fixed.txt", "x"))).toEqual({
      type: "PermissionError",
      message: expect.stringContaining('the mount "fixed" is read-only'),
    });
    expect(readFileSync(path.join(folder, "fixed.txt"), "utf8")).toBe("before");
  });

  test("says of what it did not expect that it did not [B40]", async () => {
    mkdirSync(path.join(folder, "is-a-folder"), { recursive: true });
    expect(await failureOf(write("/data/is-a-folder", "x"))).toEqual({
      type: "IsADirectoryError",
      message: expect.stringMatching(/^Unexpected error: EISDIR/),
    });
  });
});

describe("edit_file", () => {
  const edit = (file: string, old: string, next: string, more: object = {}) =>
    call("edit_file", { path: file, old_text: old, new_text: next, ...more });

  test("replaces text that is there once, literally", async () => {
    put("e.txt", "one two");
    expect((await edit("/data/e.txt", "two", "$& three")).metadata["replaced"]).toBe(1);
    expect(readFileSync(path.join(folder, "e.txt"), "utf8")).toBe("one $& three");
  });

  test("replaces text that is there more often only where that is meant", async () => {
    put("e.txt", "a b a");
    expect((await failureOf(edit("/data/e.txt", "a", "c"))).message).toContain("Text is 2 times in /data/e.txt");
    expect((await edit("/data/e.txt", "a", "c", { replace_all: true })).success).toBe(true);
    expect(readFileSync(path.join(folder, "e.txt"), "utf8")).toBe("c b c");
  });

  test("leaves a file alone whose text is another, and finds none that is missing", async () => {
    put("e.txt", "same");
    expect(await failureOf(edit("/data/e.txt", "x", "y"))).toEqual({
      type: "ValueError",
      message: "Text not found in /data/e.txt",
    });
    expect((await failureOf(edit("/data/gone.txt", "x", "y"))).message).toBe("File not found: /data/gone.txt");
    expect(readFileSync(path.join(folder, "e.txt"), "utf8")).toBe("same");
  });
});

describe("list_directory", () => {
  test("lists what is in a folder, by name, folders with a slash", async () => {
    put("l/b.txt", "");
    put("l/a/x.txt", "");
    const { output, metadata } = await call("list_directory", { path: "/data/l" });
    expect([output, metadata["entries"]]).toEqual(["a/\nb.txt", 2]);
  });

  test("lists only what is allowed", async () => {
    put("l/a/x.txt", "");
    await mount({ allowed_paths: ["/data/l/a"] });
    expect((await call("list_directory", { path: "/data/l/a" })).output).toBe("x.txt");
    expect(await failureOf(call("list_directory", { path: "/data/l" }))).toEqual(NOT_ALLOWED);
  });
});

describe("a long output", () => {
  test("of 50,000 characters is left as it is, and a longer one is cut to that and says how much is missing [B41 B42 B44]", async () => {
    put("fits.txt", "x".repeat(50_000));
    put("long.txt", "x".repeat(50_123));
    const fits = await read("/data/fits.txt");
    expect(fits.output === "x".repeat(50_000)).toBe(true);
    expect([fits.metadata.truncated, fits.metadata["originalChars"]]).toEqual([undefined, undefined]);
    const long = await read("/data/long.txt");
    expect(long.output === `${"x".repeat(50_000)}\n\n[Truncated: 123 chars remaining]`).toBe(true);
    expect(long.metadata.truncated?.output).toBe(123);
    expect(long.metadata["originalChars"]).toBe(50_123);
  });

  test("is cut where the config of its tool says, and never within a character [B42 B43]", async () => {
    put("pair.txt", "xxxx😀y");
    await mount({ max_output: 5 });
    const { output } = await read("/data/pair.txt");
    expect(output).toBe("xxxx\n\n[Truncated: 3 chars remaining]");
  });
});

test.each([
  { max_size: 0 },
  { max_size: "1" },
  { max_output: 1.5 },
  { allowed_paths: "/data" },
  { allowed_paths: [1] },
])("a config that says nothing sensible is refused when it is mounted: %j", async (config) => {
  await expect(mount(config)).rejects.toThrow(/must be/);
});
