import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { HostFunction } from "../../../src/kernel/broker/capabilities/functions.ts";
import { DebuggedCall } from "../../../src/kernel/engine/replay/debug/debugged-call.ts";
import {
  type CapabilityEvent,
  createEngine,
  type Engine,
  type ExecuteOptions,
  readRecording,
  replayCall,
} from "../../../src/glovebox/index.ts";
import { loadPrelude } from "../../../src/kernel/tool/runtimes/prelude.ts";
import { ExecutorKiller } from "./executor-killer.ts";
import { runProgram } from "../tool/program/run-program.ts";

let engine: Engine;
const killer = new ExecutorKiller();
/** What the function `count` was given, by whatever program. */
const counted: unknown[] = [];
const events: CapabilityEvent[] = [];

const functions = new Map<string, HostFunction>([
  ["count", (args) => counted.push(args)],
  ["kill", () => killer.kill()],
  ["never", () => new Promise(() => undefined)],
]);

beforeAll(async () => {
  engine = await createEngine({ workers: 1, policy: { rules: [{ allow: { functions: true } }] } });
  killer.watch(engine);
  engine.on("capability:call", (event) => events.push(event));
  // The process that was at work before anybody listened is replaced by one that is known.
  await run("for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1)", {}, { cpuMs: 20 });
});
afterAll(() => engine.close());

beforeEach(() => {
  counted.length = 0;
  events.length = 0;
  killer.left = 1;
});

const run = (code: string, options?: ExecuteOptions, limits = {}) =>
  runProgram(engine, { kind: "functions", code, functions, limits }, options);

test("a program whose executor is killed goes on, and no function that has answered is called again", async () => {
  const result = await run(`
    const first = await count("first");
    const killed = await kill();
    return [first, killed, await count("second")];
  `);
  expect(result).toMatchObject({ output: { value: [1, true, 2] }, metadata: { attempts: 2 } });
  expect(counted).toEqual(["first", "second"]);
  expect(events.filter(({ outcome }) => outcome === "replayed").map(({ method }) => method)).toContain("count");
});

test.each([0, 1, 2, 3])(
  "a program that is killed beside %i answers of a Promise.all has each effect once",
  async (at) => {
    const code = `const calls = [0, 1, 2].map((n) => count(n));
    calls.splice(${at}, 0, kill());
    return (await Promise.all(calls)).length;`;
    expect(await run(code)).toMatchObject({ output: { value: 4 }, metadata: { attempts: 2 } });
    expect(counted).toEqual([0, 1, 2]);
  },
);

test("a recorded program is replayed without its functions, also under a debugger", async () => {
  killer.left = 0;
  const { metadata } = await run(`console.log("at", Date.now()); return [await count({ n: 1 }), Math.random()]`, {
    record: true,
  });
  const recording = readRecording(JSON.stringify(metadata["recording"]));
  expect(recording.asks).toEqual([{ capability: "functions", method: "count", args: '{"n":1}' }]);
  expect((await replayCall(recording)).isSame).toBe(true);
  const debugged = new DebuggedCall(await loadPrelude(), recording, () => undefined);
  expect(await debugged.run()).toBe(`+${JSON.stringify(recording.outcome.output)}`);
  expect(counted).toHaveLength(1);
});

test("a program's calls of functions are told, measured and charged as those of any tool", async () => {
  await run("await count(1); await count(2)", { tenant: "payer" });
  expect(events).toMatchObject([
    { tool: "(program)", tenant: "payer", capability: "functions", method: "count", step: 1, outcome: "ok", rules: [] },
    { step: 2, argsLength: 1, answerLength: '{"value":2}'.length },
  ]);
  expect(engine.usage("payer").asks).toBe(2);
  expect(await engine.metrics()).toMatch(/glovebox_capability_calls_total\{capability="functions",outcome="ok"\} \d/);
});

test("a program that is cancelled ends, and what a function answers then reaches nobody", async () => {
  const controller = new AbortController();
  const running = run("await never()", { signal: controller.signal });
  setTimeout(() => controller.abort(), 50);
  expect((await running).error?.code).toBe("cancelled");
});

test("a listener of tool:pre can block a program", async () => {
  await using other = await createEngine({ workers: 1, executor: "threads" });
  other.on("tool:pre", (event) => event.tool === "(program)" && event.block("no programs here"));
  const result = await runProgram(other, { kind: "functions", code: "return 1", functions, limits: {} });
  expect(result.error).toMatchObject({ code: "blocked", message: "no programs here" });
});

describe("nobody else", () => {
  test("sees or calls the tool that runs programs", async () => {
    await run("return 1");
    expect([engine.list(), engine.get("(program)"), engine.stats().tools]).toEqual([[], undefined, 0]);
    const result = await engine.execute({ name: "(program)", arguments: { code: "return 1", names: [] } });
    expect(result.error?.code).toBe("tool_not_found");
    await expect(engine.register({ name: "(program)", description: "d", source: "" })).rejects.toThrow(
      "not defined correctly: /name",
    );
  });

  test.each([
    ["does not ask for them", {}],
    ["asks for them, and is allowed them by a policy rule", { functions: true }],
  ])("gets the functions of a program: a tool that %s", async (_what, capabilities) => {
    const source = "export default async (i, { host }) => host.functions.count('stolen')";
    await engine.register({ name: "thief", description: "d", source, capabilities });
    const running = run("await never()", { signal: AbortSignal.timeout(500) });
    expect((await engine.execute({ name: "thief", arguments: {} })).error?.code).toBe("capability_denied");
    await running;
    await engine.unregister("thief");
    expect(counted).toEqual([]);
  });
});

test("a program has its functions, and no other way to the host", async () => {
  killer.left = 0;
  const { output } = await run(`
    return [typeof count, typeof fetch, typeof host, typeof process, typeof require, typeof WebAssembly];
  `);
  expect(output).toEqual({ value: ["function", ...Array(5).fill("undefined")] });
});

test("what a program leaves on its globals is gone with it", async () => {
  await run("globalThis.left = Object.prototype.left = 1");
  expect((await run("return [typeof left, {}.left]")).output).toEqual({ value: ["undefined", null] });
});

test("a closed engine refuses programs", async () => {
  const other = await createEngine({ workers: 1, executor: "threads" });
  await other.close();
  expect((await runProgram(other, { kind: "functions", code: "return 1", functions, limits: {} })).error?.code).toBe(
    "engine_closed",
  );
});
