import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createEngine, type Engine, type EngineOptions, type ToolDefinition } from "../../src/glovebox/index.ts";
import { createServer } from "../../src/server/http/server.ts";
import { buildTarGz } from "../kernel/tool/package/build-tar.ts";
import { buildZip } from "../kernel/tool/package/build-zip.ts";
import { newTree } from "../kernel/tool/package/opening.ts";
import { refusalOf } from "../kernel/tool/temporary.ts";
import {
  code,
  command,
  exportsOf,
  EXTERNREF,
  FUNCREF,
  FUNCTIONS,
  imports,
  limits,
  memory,
  name,
  section,
  TYPES,
  wasm,
} from "../kernel/base/wasm/wasm.ts";
import { runProgram } from "../kernel/engine/program.ts";
import { glovebox, ROOT } from "../cli/command.ts";
import { DEAR, given, unchanged } from "../long-integers.ts";

const FOLDER = fileURLToPath(new URL("../../fixtures/binaries/wasi", import.meta.url));
const moduleAt = (name: string): string => path.join(FOLDER, `${name}.wasm`);
const INCREMENT: ToolDefinition = {
  name: "binary-increment-tool",
  description: "CLI tool that increments a number by 1",
  runtime: "wasi",
  entry: moduleAt("increment"),
  outputSchema: {
    type: "object",
    properties: { result: { type: "number" }, status: { type: "string" } },
    required: ["result", "status"],
  },
};
const HAZARDS: ToolDefinition = {
  name: "hazards",
  description: "Does what it is told.",
  runtime: "wasi",
  entry: moduleAt("hazards"),
  limits: { memoryMb: 32 },
};
const ANSWER = { result: 43, status: "success" };

async function open(definition?: ToolDefinition, options: EngineOptions = {}): Promise<Engine> {
  const engine = await createEngine({ workers: 1, executor: "threads", ...options });
  if (definition !== undefined) await engine.register(definition);
  return engine;
}

/** Has the program of hazards do something. */
function doing(engine: Engine, what: string, more: Record<string, unknown> = {}) {
  return engine.execute({ name: "hazards", arguments: { do: what, ...more } });
}

describe("a command of WASI", () => {
  test.each(["threads", "process"] as const)("answers with what it writes, on %s [C66 C71]", async (executor) => {
    await using engine = await open(INCREMENT, { executor });
    const result = await engine.execute({ name: INCREMENT.name, arguments: { value: 42 } });
    expect(result.error).toBeNull();
    expect(result.output).toEqual(ANSWER);
    const [info] = engine.list();
    expect(info).toMatchObject({ runtime: "wasi", contract: "agentspace", isolation: "instance" });
  });

  test("has as its first argument what it is called with, in whatever script it is written [C65]", async () => {
    await using engine = await open({ ...HAZARDS, config: { unit: "°" } });
    const { output } = await doing(engine, "echo", { text: "grüße, 世界 🙂\n\"'\\" });
    const input = { do: "echo", text: "grüße, 世界 🙂\n\"'\\" };
    expect(output).toEqual({ tool_id: "hazards", tool_data: { unit: "°" }, mode: "input", input });
  });

  test("gets and gives integers that no number holds, digit by digit", async () => {
    await using engine = await open(HAZARDS);
    await unchanged(async (ids) => {
      const { output, error } = await doing(engine, "echo", { ids });
      expect(error).toBeNull();
      const input = { do: "echo", ids: ids.map(given) };
      expect(output).toEqual({ tool_id: "hazards", tool_data: {}, mode: "input", input });
    }, DEAR)();
  });

  test("takes arguments that no system would [C72]", async () => {
    await using engine = await open(HAZARDS);
    const { output, error } = await doing(engine, "echo", { text: "x".repeat(400_000) });
    expect(error).toBeNull();
    expect(output).toMatchObject({ input: { text: "x".repeat(400_000) } });
  });

  test.each([
    ["that is no JSON", "garbage", /output file is not JSON: its output file: this is no JSON/],
    ["that is no object", "list", /must return an object, but returned a list/],
  ])("fails with an answer %s [C67 C70]", async (_what, what, message) => {
    await using engine = await open(HAZARDS);
    const { error } = await doing(engine, what);
    expect(error).toMatchObject({ code: "tool_error", message: expect.stringMatching(message) });
  });

  test("fails where it writes nothing, with what it said instead [C68 C70]", async () => {
    await using engine = await open(INCREMENT);
    const { error, metadata } = await engine.execute({ name: INCREMENT.name, arguments: { value: "much" } });
    const message = "the binary wrote no output file: stdout: Missing or invalid 'value'";
    expect(error).toMatchObject({ code: "tool_error", type: "BinaryToolError", message });
    expect(metadata.logs).toEqual([{ level: "log", message: "Missing or invalid 'value'" }]);
  });

  test("fails with its exit code, and what it said [C69 C70]", async () => {
    await using engine = await open(HAZARDS);
    const { error, metadata } = await doing(engine, "exit");
    const message = "the binary ended with exit code 3: stderr: three of a kind";
    expect(error).toMatchObject({ code: "tool_error", message });
    expect(metadata.logs).toEqual([{ level: "error", message: "three of a kind" }]);
  });

  test.each([
    ["trap", /^the binary trapped: unreachable: stderr: about to trap$/],
    ["bounds", /^the binary trapped: memory access out of bounds/],
    ["recursion", /^the binary trapped: memory access out of bounds/],
    ["stack", /^the binary trapped: its stack is full/],
  ])("fails with the reason where it traps: %s", async (what, message) => {
    await using engine = await open(HAZARDS);
    const { error } = await doing(engine, what);
    expect(error).toMatchObject({ code: "tool_error", message: expect.stringMatching(message) });
    expect((await doing(engine, "leave")).error).toBeNull();
  });

  test("answers to any command with the same, and is not started [C74]", async () => {
    await using engine = await open(HAZARDS);
    const { output, error } = await engine.execute({ name: "hazards", command: "loop", arguments: { do: "loop" } });
    expect(error).toBeNull();
    expect(output).toEqual({ status: "unsupported", message: "binary tools have no commands" });
  });

  test.each(["instance", "context", "isolate"] as const)(
    "finds nothing of other calls, at the level %s",
    async (level) => {
      await using engine = await open({ ...HAZARDS, isolation: level });
      for (let call = 0; call < 3; call++) expect((await doing(engine, "leave")).output).toEqual({ found: false });
    },
  );

  test("cannot be shared, as nothing of it stays", async () => {
    await using engine = await open();
    const error = await refusalOf(engine.register({ ...HAZARDS, isolation: "shared" }));
    expect(error).toMatchObject({ code: "load_error", message: expect.stringMatching(/starts afresh for each call/) });
  });

  test("sees no file, no variable and no link of anybody", async () => {
    await using engine = await open(HAZARDS);
    expect((await doing(engine, "escape")).output).toEqual({ escaped: false });
  });

  test("has the call's own time and randomness; a sleep sets its clock forward, and ends at once", async () => {
    await using engine = await open(HAZARDS);
    const before = Date.now();
    const one = (await doing(engine, "chance")).output as Record<string, string>;
    const other = (await doing(engine, "chance")).output as Record<string, string>;
    expect(one["random"]).not.toBe(other["random"]);
    expect(Number(one["realtime"]) / 1e6).toBeGreaterThanOrEqual(before - 1);
    expect(Number(one["realtime"]) / 1e6).toBeLessThan(Date.now() + 1);
    expect(one).toMatchObject({ monotonic: "0", slept: String(3_600 * 1e9) });
  });

  test("ends at its output's limit with the reason", async () => {
    await using engine = await open({ ...HAZARDS, limits: { outputBytes: 1_000 } });
    const { error } = await doing(engine, "echo", { text: "x".repeat(2_000) });
    expect(error).toMatchObject({ code: "output_too_large" });
  });
});

describe("a module is registered", () => {
  test("by its bytes as Base64", async () => {
    const { entry: _entry, ...rest } = INCREMENT;
    const source = (await readFile(moduleAt("increment"))).toString("base64");
    await using engine = await open({ ...rest, source });
    expect((await engine.execute({ name: rest.name, arguments: { value: 42 } })).output).toEqual(ANSWER);
  });

  test("as a file, of which its name is all that is known", async () => {
    await using engine = await open();
    const info = await engine.register(moduleAt("increment"));
    expect(info).toMatchObject({ name: "increment", runtime: "wasi" });
    expect((await engine.execute({ name: "increment", arguments: { value: 42 } })).output).toEqual(ANSWER);
  });

  test.each([
    ["folder", (bytes: Buffer) => ({ "tool/code/increment": bytes }), "tool"],
    ["zip without a bit that makes it executable", zipped, "tool.zip"],
    ["tar.gz", tarred, "tool.tar.gz"],
  ])("as a package: a %s [C64]", async (_what, pack, name) => {
    await using engine = await open();
    const root = await newTree(pack(await readFile(moduleAt("increment"))));
    const info = await engine.register(path.join(root, name));
    expect(info).toMatchObject({ runtime: "wasi", contract: "agentspace" });
    expect((await engine.execute({ name: info.name, arguments: { value: 42 } })).output).toEqual(ANSWER);
  });

  test("with the record that the documents have for it [C71]", async () => {
    await using engine = await open();
    const record = await readFile(path.join(FOLDER, "tool.json"));
    const root = await newTree({ "code/increment": await readFile(moduleAt("increment")), "tool.json": record });
    const info = await engine.register(root);
    expect(info).toMatchObject({ name: "binary-increment-tool", version: "1.0.0", tags: ["binary", "math", "go"] });
    expect(info.limits.wallMs).toBe(10_000);
    expect((await engine.execute({ name: info.name, arguments: { value: 42 } })).output).toEqual(ANSWER);
    const { error } = await engine.execute({ name: info.name, arguments: { value: "42" } });
    expect(error).toMatchObject({ code: "invalid_arguments" });
  });

  const WASI = "wasi_snapshot_preview1";
  test.each([
    ["whose text is no Base64", "a module!", /source that is not Base64/],
    ["that is no module", Buffer.from("\x7fELF"), /its module is no WebAssembly module/],
    ["that imports something else", importing("env", "abort"), /its module imports "env.abort"/],
    ["that asks for too much memory", command(1_025), /needs a memory of 65 MiB, and may have 64 MiB/],
    ["that V8 refuses", wasm(TYPES, FUNCTIONS, memory(...limits(1)), exportsOf(0), code(0xff)), /cannot be compiled/],
  ])("or refused: one %s", async (_what, bytes, message) => {
    await using engine = await open();
    const source = typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("base64");
    const error = await refusalOf(engine.register({ name: "it", description: "none", runtime: "wasi", source }));
    expect(error).toMatchObject({ code: "load_error", message: expect.stringMatching(message) });
  });

  test("whatever types it gives to what it imports, of which V8 knows nothing", async () => {
    await using engine = await open();
    for (const from of [
      "fd_write",
      "path_open",
      "random_get",
      "poll_oneoff",
      "args_get",
      "clock_time_get",
      "proc_exit",
    ]) {
      // A function of its own, a number of 64 bits, one with a fraction, and nothing.
      const types = section(1, 2, 0x60, 0, 0, 0x60, 4, FUNCREF, 0x7e, 0x7c, EXTERNREF, 1, 0x7e);
      const imported = section(2, 1, ...name(WASI), ...name(from), 0, 1);
      const call = [0xd2, 1, 0x42, 7, 0x44, ...Array.from({ length: 8 }, () => 0x3f), 0xd0, EXTERNREF, 0x10, 0, 0x1a];
      const bytes = wasm(types, imported, FUNCTIONS, memory(...limits(1)), exportsOf(1), code(...call));
      const source = Buffer.from(bytes).toString("base64");
      await engine.register({ name: "it", description: "none", runtime: "wasi", source });
      const { error } = await engine.execute({ name: "it", arguments: {} });
      expect(error).toMatchObject({ code: "tool_error", message: expect.stringMatching(/^the binary /) });
    }
  });
});

describe("a command is called", () => {
  test("over HTTP, where it was registered over HTTP as well", async () => {
    const engine = await open();
    // Closing it closes the engine.
    await using server = await createServer(engine, { port: 0, drainMs: 100, admin: "open" });
    const { entry: _entry, ...rest } = INCREMENT;
    const source = (await readFile(moduleAt("increment"))).toString("base64");
    const headers = { "content-type": "application/json" };
    const put = await fetch(`${server.url}/v1/tools/${rest.name}`, {
      method: "PUT",
      headers,
      body: JSON.stringify({ ...rest, source }),
    });
    expect(put.status).toBe(201);
    const called = await fetch(`${server.url}/v1/execute`, {
      method: "POST",
      headers,
      body: JSON.stringify({ name: rest.name, arguments: { value: 42 } }),
    });
    expect(await called.json()).toMatchObject({ success: true, output: ANSWER });
  });

  test("from the command line", async () => {
    const { stdout } = await glovebox(ROOT, ["run", moduleAt("increment"), "--input", '{"value":42}']);
    expect(JSON.parse(stdout)).toEqual(ANSWER);
  });
});

test.each(["threads", "process"])("a process that ran commands on %s ends by itself", async (kind) => {
  const { stdout, stderr, code: exit } = await runProgram("commands", [kind]);
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual([...Array.from({ length: 6 }, () => 43), "cpu_limit"]);
  expect(exit).toBe(0);
});

function importing(from: string, one: string): Uint8Array {
  return wasm(TYPES, imports([from, one]), FUNCTIONS, memory(...limits(1)), exportsOf(1), code());
}

function zipped(bytes: Buffer): Record<string, Buffer> {
  return { "tool.zip": buildZip([{ name: "any/code/increment", data: bytes }]) };
}

function tarred(bytes: Buffer): Record<string, Buffer> {
  return { "tool.tar.gz": buildTarGz([{ name: "any/code/increment", data: bytes }]) };
}
