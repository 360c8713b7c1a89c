import { execFile, spawn } from "node:child_process";
import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { createRegistry } from "../../../src/contrib/agentspace/index.ts";
import { defineCapability, type Engine, type ToolDefinition } from "../../../src/glovebox/index.ts";
import { processesWith } from "../../processes.ts";
import { buildTarGz } from "../../kernel/tool/package/build-tar.ts";
import { buildZip } from "../../kernel/tool/package/build-zip.ts";
import { newTree } from "../../kernel/tool/package/opening.ts";
import { refusalOf } from "../../kernel/tool/temporary.ts";
import { HAZARDS, INCREMENT, keptFiles, newPackage, noBinaries, openEngine } from "./binaries.ts";

const TOOL = { name: "hazards", description: "Does what it is told.", runtime: "native", entry: HAZARDS } as const;
const LIMITS = { cpuMs: 500, wallMs: 20_000, memoryMb: 32 };

/** Calls the binary that does what it is told to. */
async function act(what: string, more: Partial<ToolDefinition> = {}, engine?: Engine) {
  const used = engine ?? (await openEngine());
  await used.register({ ...TOOL, limits: LIMITS, ...more });
  return used.execute({ name: TOOL.name, arguments: { act: what } });
}

describe.skipIf(noBinaries !== undefined)(`a binary tool (${noBinaries ?? "in bubblewrap"})`, () => {
  test("of the guide adds one, from a folder, from archives, and as a definition [C64 C66 C71]", async () => {
    const folder = await newPackage();
    const entries = await Promise.all(
      ["code/binary_increment", "tool.json"].map(async (name) => ({
        name,
        data: await readFile(path.join(folder, name)),
      })),
    );
    const archives = await newTree({ "a.zip": buildZip(entries), "a.tar.gz": buildTarGz(entries) });
    // Nothing in the package says that it can be started: archives that are zipped cannot.
    await chmod(path.join(folder, "code/binary_increment"), 0o600);
    const engine = await openEngine();
    for (const place of [folder, path.join(archives, "a.zip"), path.join(archives, "a.tar.gz")]) {
      const info = await engine.register(place);
      expect(info).toMatchObject({ name: "binary-increment-tool", runtime: "native", capabilities: { native: true } });
      const call = { name: info.name, arguments: { value: 42 } };
      expect((await engine.execute(call)).output).toEqual({ result: 43, status: "success" });
      await engine.unregister(info.name);
    }
    await engine.register({ name: "increment", description: "Adds one.", runtime: "native", entry: INCREMENT });
    const call = { name: "increment", arguments: { value: 1.5 } };
    expect((await engine.execute(call)).output).toEqual({ result: 2.5, status: "success" });
  });

  test("works from AgentSpace's registry, within the time of its record [C71 C73]", async () => {
    const engine = await openEngine();
    await using registry = await createRegistry(engine, { path: ":memory:" });
    const folder = await newPackage();
    const record: unknown = JSON.parse(await readFile(path.join(folder, "tool.json"), "utf8"));
    registry.register({ ...Object(record), tool_source_code_link: folder });
    const { output } = await registry.execute({ name: "binary-increment-tool", arguments: { value: 42 } });
    expect(output).toEqual({ result: 43, status: "success" });
    expect(engine.get("binary-increment-tool")?.limits.wallMs).toBe(10_000);
  });

  test("gets one argument of JSON, with its data, and no environment but its folder's name [C65 C76]", async () => {
    const engine = await openEngine();
    const { output } = await act("argument", { config: { a: "é😀" } }, engine);
    expect(output).toEqual({ tool_id: "hazards", tool_data: { a: "é😀" }, mode: "input", input: { act: "argument" } });
    const looked = await act("look", {}, engine);
    expect(looked.output).toMatchObject({ environment: "PWD ", cwd: "/call", uid: 65_534, gid: 65_534 });
    // The first process inside is above it, and was not started where the engine was.
    expect(looked.output).toMatchObject({ above: "HOME=/home PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 PWD=/ " });
  });

  test("that is linked with the system's libraries finds them", async () => {
    const engine = await openEngine();
    await engine.register({ name: "true", description: "Does nothing.", runtime: "native", entry: "/bin/true" });
    const { error } = await engine.execute({ name: "true", arguments: {} });
    expect(error?.message).toBe("the binary wrote no output file, and said nothing");
  });

  test("may write its answer as a draft first, and rename it", async () => {
    expect((await act("renamed")).output).toEqual({ written: "whole" });
  });

  test("that wrote nothing has failed, whatever its exit code, and what it said is told [C68 C70]", async () => {
    const engine = await openEngine();
    const said = await act("nothing", {}, engine);
    expect(said.error).toMatchObject({ code: "tool_error", type: "BinaryToolError" });
    expect(said.error?.message).toBe("the binary wrote no output file: stderr: told on stderr; stdout: told on stdout");
    const definition = { name: "increment", description: "Adds one.", runtime: "native", entry: INCREMENT } as const;
    await engine.register(definition);
    const wrong = await engine.execute({ name: "increment", arguments: {} });
    expect(wrong.error?.message).toBe("the binary wrote no output file: stdout: Missing or invalid 'value'");
  });

  test("that ends with an exit code or by a signal has failed with that, and what it said [C69 C70]", async () => {
    const engine = await openEngine();
    const failed = await act("exit", {}, engine);
    expect(failed.error?.message).toBe("the binary ended with exit code 3: stderr: it broke; stdout: out");
    expect((await act("exit with output", {}, engine)).error?.message).toContain(
      'exit code 4: its output file: {"why":"told in the file"}',
    );
    expect((await act("crash", {}, engine)).error?.message).toContain("exit code 134 (SIGABRT)");
  });

  test("whose answer is no JSON, no object or no file has failed [C67]", async () => {
    const engine = await openEngine();
    expect((await act("garbage", {}, engine)).error?.message).toContain("is not JSON: its output file: { not JSON");
    expect((await act("list", {}, engine)).error?.message).toContain("must return an object");
    for (const odd of ["link", "pipe", "folder"]) {
      expect((await act(odd, {}, engine)).error?.message).toContain("something that is not a file");
    }
    expect((await act("large", {}, engine)).error).toMatchObject({ code: "output_too_large" });
  });

  test("answers commands with one word, and is not started for them [C74]", async () => {
    const engine = await openEngine({ policy: { rules: [] } });
    await engine.register(TOOL);
    const { output, metadata } = await engine.execute({ name: TOOL.name, arguments: {}, command: "any" });
    expect(output).toEqual({ status: "unsupported", message: "binary tools have no commands" });
    expect(metadata.attempts).toBe(1);
  });

  test("is not called with more than the system takes as an argument [C72]", async () => {
    const engine = await openEngine();
    await engine.register(TOOL);
    const call = (length: number) => ({ name: TOOL.name, arguments: { act: "argument", text: "x".repeat(length) } });
    expect((await engine.execute(call(130_900))).error).toBeNull();
    const { error } = await engine.execute(call(131_072));
    expect(error).toMatchObject({ code: "input_too_large", message: expect.stringContaining("131071 bytes") });
  });

  test("ends with the limit that it meets: processor time, memory, time [C73]", async () => {
    const engine = await openEngine();
    for (const what of ["loop", "stubborn"]) expect((await act(what, {}, engine)).error?.code).toBe("cpu_limit");
    expect((await act("memory", {}, engine)).error?.code).toBe("memory_limit");
    const id = `${Math.random()}`;
    const { error } = await act("sleep", { limits: { wallMs: 500 }, config: { id } }, engine);
    expect(error?.code).toBe("wall_limit");
    await expect.poll(() => processesWith(id)).toBe(0);
  });

  test("that is cancelled, or whose engine closes, is gone", async () => {
    const engine = await openEngine();
    await engine.register(TOOL);
    const abort = new AbortController();
    const id = `${Math.random()}`;
    const call = { name: TOOL.name, arguments: { act: "sleep", id } };
    const cancelled = engine.execute(call, { signal: abort.signal });
    await expect.poll(() => processesWith(id)).toBeGreaterThan(0);
    abort.abort();
    expect((await cancelled).error?.code).toBe("cancelled");
    await expect.poll(() => processesWith(id)).toBe(0);
    const left = engine.execute(call);
    await expect.poll(() => processesWith(id)).toBeGreaterThan(0);
    await engine.close({ drainMs: 100 });
    expect((await left).success).toBe(false);
    await expect.poll(() => processesWith(id)).toBe(0);
  });

  test("goes with the process of its engine, however that ends", async () => {
    const id = `${Math.random()}`;
    const source = `import { createEngine } from ${JSON.stringify(path.resolve("src/glovebox/index.ts"))};
      const engine = await createEngine({ workers: 1, executor: "threads", policy: { rules: [{ allow: { native: true } }] } });
      await engine.register(${JSON.stringify(TOOL)});
      await engine.execute({ name: "hazards", arguments: { act: "sleep", id: "${id}" } });`;
    const folder = await newTree({ "program.ts": source });
    const program = path.join(folder, "program.ts");
    const child = spawn(process.execPath, ["--no-warnings", program], { stdio: "ignore" });
    const files = async () => (await keptFiles()).filter((file) => file.includes(`-${child.pid}-`));
    await expect.poll(() => processesWith(`"id":"${id}"`), { timeout: 60_000 }).toBeGreaterThan(0);
    expect(await files()).toHaveLength(1);
    child.kill("SIGKILL");
    await expect.poll(() => processesWith(`"id":"${id}"`), { timeout: 60_000 }).toBe(0);
    // What it has left, the next engine removes that has a binary.
    await (await openEngine()).register(TOOL);
    await expect.poll(files, { timeout: 60_000 }).toEqual([]);
  });

  test("has failed where the host has no descriptors left for it, which lives on", async () => {
    const program = fileURLToPath(new URL("../../kernel/engine/programs/runs-out-of-descriptors.ts", import.meta.url));
    const args = [process.execPath, "--no-warnings", program, INCREMENT];
    const { stdout } = await promisify(execFile)("/bin/sh", ["-c", 'ulimit -n 400; exec "$@"', "sh", ...args]);
    const ends: unknown[] = JSON.parse(stdout);
    expect([ends[0], ends.at(-1)]).toEqual(["ok", "ok"]);
    expect(new Set(ends)).toEqual(new Set(["ok", "capability_failed"]));
  });

  test("is run once, also where its call is run again because its executor was lost", async () => {
    const opening = Promise.withResolvers<void>();
    const gate = defineCapability({ name: "gate", methods: { pass: { handler: () => opening.promise } } });
    const engine = await openEngine({
      executor: "process",
      capabilities: [gate],
      policy: { rules: [{ allow: { native: true, tools: ["*"], gate: true } }] },
    });
    const outcomes: string[] = [];
    engine.on("capability:call", ({ capability, outcome }) => outcomes.push(`${capability} ${outcome}`));
    await engine.register({ ...TOOL, limits: LIMITS });
    const source = `export default async (_, { host }) => {
      const answer = await host.tools.call("hazards", { act: "argument" });
      await host.gate.pass();
      return answer;
    }`;
    await engine.register({
      name: "calls",
      description: "d",
      source,
      capabilities: { tools: ["hazards"], gate: true },
    });
    const running = engine.execute({ name: "calls", arguments: {} });
    await expect.poll(() => outcomes, { timeout: 60_000 }).toContain("native ok");
    const wedges = "export default () => { for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1); }";
    await engine.register({ name: "wedges", description: "d", source: wedges, limits: { cpuMs: 20 } });
    expect((await engine.execute({ name: "wedges", arguments: {} })).error?.code).toBe("cpu_limit");
    opening.resolve();
    const { error, metadata } = await running;
    expect([error, metadata.attempts]).toEqual([null, 2]);
    expect(outcomes.filter((one) => one.startsWith("native"))).toEqual(["native ok"]);
  });
});

describe("a binary that is registered", () => {
  const header = (change: (bytes: Buffer) => void = () => undefined): Buffer => {
    const bytes = Buffer.alloc(128);
    bytes.write("\u007fELF\u0002\u0001\u0001", "latin1");
    bytes.writeUInt16LE(2, 16);
    bytes.writeUInt16LE(process.arch === "arm64" ? 0xb7 : 0x3e, 18);
    change(bytes);
    return bytes;
  };

  test("is refused where it is for another machine, with what it is and what is needed [C75]", async () => {
    const engine = await openEngine();
    const other = process.arch === "arm64" ? 0x3e : 0xb7;
    const folder = await newTree({ "code/increment": header((bytes) => bytes.writeUInt16LE(other, 18)) });
    const error = await refusalOf(engine.register(folder));
    const [is, needed] = [`64-bit ELF for ${other === 0xb7 ? "arm64" : "x64"}`, "64-bit ELF program for"];
    expect(error.message).toContain(
      `platform mismatch: code/increment is ${is}; needed is a ${needed} ${process.arch}`,
    );
    expect(error).toMatchObject({ code: "load_error", details: { runtime: "native", step: "install", is } });
    expect(error.message).not.toContain(folder.slice(0, -8));
    expect(engine.list()).toEqual([]);
  });

  test("is not run where no rule allows it, and is told how it would be", async () => {
    const engine = await openEngine({ policy: { rules: [] } });
    const entry = path.join(await newTree({ increment: header() }), "increment");
    await engine.register({ name: "increment", description: "d", runtime: "native", entry });
    expect(engine.lint()).toMatchObject([{ tool: "increment", pointer: "/capabilities/native" }]);
    const { error } = await engine.execute({ name: "increment", arguments: {} });
    expect(error).toMatchObject({
      code: "capability_denied",
      details: { capability: "native", remedy: expect.stringContaining('"allow": { "native"') },
    });
  });

  test("is a file: a text, a file that is missing and a file that is too large are refused", async () => {
    const engine = await openEngine();
    const tool = { name: "increment", description: "d", runtime: "native" } as const;
    expect((await refusalOf(engine.register({ ...tool, source: "AAAA" }))).message).toContain("name it in entry");
    const folder = await newTree({ "increment.sh": "#!/bin/sh\n" });
    const missing = await refusalOf(engine.register({ ...tool, entry: path.join(folder, "nothing") }));
    expect(missing.message).toContain("nothing does not exist");
    const script = await refusalOf(engine.register({ ...tool, entry: path.join(folder, "increment.sh") }));
    expect(script.message).toContain("increment.sh is a script, which begins with #!");
    for (const { message } of [missing, script]) expect(message).not.toContain(tmpdir());
  });

  test("is kept once for all tools that are the same, and gone with the last of them", async () => {
    const before = await keptFiles();
    // Engines of other processes have binaries as well.
    const isOurs = (file: string): boolean => file.includes(`-${process.pid}-`) && !before.includes(file);
    const ours = async () => (await keptFiles()).filter(isOurs);
    const engine = await openEngine();
    const entry = path.join(
      await newTree({ increment: header((bytes) => bytes.write(`${Math.random()}`, 64)) }),
      "increment",
    );
    const tool = { description: "d", runtime: "native", entry } as const;
    await engine.register({ ...tool, name: "one" });
    await engine.register({ ...tool, name: "other" });
    await engine.register({ ...tool, name: "one", description: "replaced" });
    await rm(entry);
    const [file = "", ...more] = await ours();
    expect(more).toEqual([]);
    const found = await stat(path.join(tmpdir(), file));
    expect(found.mode & 0o777).toBe(0o500);
    expect((await stat(path.join(tmpdir(), path.dirname(file)))).mode & 0o777).toBe(0o700);
    await engine.unregister("one");
    expect(await ours()).toEqual([file]);
    await engine.unregister("other");
    await expect.poll(ours).toEqual([]);
    await writeFile(entry, header());
    await engine.register({ ...tool, name: "one" });
    await engine.close();
    expect(await ours()).toEqual([]);
  });

  test("has nothing that a tool in JavaScript could have in its place", async () => {
    const engine = await openEngine();
    const source = `export default (_, { host }) => host.native.run({ argument: "{}" });`;
    await engine.register({ name: "pretends", description: "d", source, capabilities: { native: true } });
    const { error } = await engine.execute({ name: "pretends", arguments: {} });
    expect(error).toMatchObject({ code: "capability_denied", message: expect.stringContaining("has no binary") });
  });
});
