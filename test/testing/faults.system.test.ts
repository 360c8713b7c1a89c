import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toolProvider } from "../../src/contrib/xaibo/index.ts";
import { type CallEvent, createEngine, type Engine, type PreEvent, type ToolResult } from "../../src/glovebox/index.ts";
import { faults } from "../../src/testing/index.ts";
import { executors } from "../processes.ts";

const ECHO = {
  name: "echo",
  description: "Gives back what it gets.",
  source: "export default (input) => input",
  inputSchema: { type: "object", properties: { n: { type: "number" } } },
  limits: { wallMs: 7_000 },
};
const SLEEP = {
  name: "sleep",
  description: "Sleeps.",
  source: "export default ({ ms }) => new Promise((done) => setTimeout(done, ms))",
};

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    queue: { concurrency: 1, maxQueued: 0 },
    tools: [ECHO, SLEEP, { ...ECHO, name: "other" }],
  });
});

afterAll(() => engine.close());

const echo = { id: "c1", name: "echo", arguments: { n: 1 } };
const codeOf = ({ success, error }: ToolResult): string => (success ? "ok" : (error?.code ?? ""));

/** What two results of the same kind have in common: the fields, their types, and what the table of errors says. */
function shapeOf({ success, output, error, metadata }: ToolResult): unknown {
  const typed = (value: object) => Object.entries(value).map(([key, one]) => [key, typeof one]);
  return {
    success,
    output,
    error: error && {
      ...error,
      message: error.message.replaceAll(/\d+/g, "N"),
      details: Object.fromEntries(typed(error.details ?? {})),
    },
    metadata: Object.fromEntries(typed(metadata)),
    attempts: metadata.attempts,
  };
}

describe("forced failures", () => {
  test("a timeout is the engine's own in every field, and comes at once", async () => {
    const forced = await faults(engine)
      .forceTimeout("sleep")
      .execute({ name: "sleep", arguments: { ms: 60_000 } }, { limits: { wallMs: 30 } });
    const real = await engine.execute({ name: "sleep", arguments: { ms: 60_000 } }, { limits: { wallMs: 30 } });
    expect(codeOf(real)).toBe("wall_limit");
    expect(shapeOf(forced)).toEqual(shapeOf(real));
    expect(forced.error?.message).toBe(real.error?.message);
  });

  test("a timeout tells the tool's own limit", async () => {
    const { error, metadata } = await faults(engine).forceTimeout("echo").execute(echo);
    expect(error?.message).toBe("the call took longer than 7000 ms (limits.wallMs)");
    expect(metadata).toMatchObject({ callId: "c1", tool: "echo", wallMs: 7_000 });
  });

  test("a full queue is the engine's own in every field, with what to do", async () => {
    const running = engine.execute({ name: "sleep", arguments: { ms: 200 } });
    const real = await engine.execute(echo);
    await running;
    const forced = await faults(engine).queueFull({ waiting: 0, retryAfterMs: 250 }).execute(echo);
    expect(codeOf(real)).toBe("queue_full");
    expect(shapeOf(forced)).toEqual(shapeOf(real));
    expect(forced.error).toMatchObject({
      message: real.error?.message,
      retryable: true,
      details: { retryAfterMs: 250 },
    });
  });

  test("a crash is the engine's own in every field", async () => {
    const source =
      "export default async () => { console.log('now'); await new Promise((go) => setTimeout(go, 1)); for (;;); }";
    const spin = { name: "spin", description: "Spins.", source, limits: { cpuMs: 20_000 } };
    const executor = { kind: "process", spare: false } as const;
    await using own = await createEngine({ workers: 1, executor, tools: [spin] });
    const call = { name: "spin", arguments: {} };
    const began = Promise.withResolvers<void>();
    const running = own.execute(call, { onLog: () => began.resolve() });
    await began.promise;
    await setTimeout(300);
    for (const pid of executors()) process.kill(pid, "SIGABRT");
    const real = await running;
    const forced = await faults(own).forceCrash("spin").execute(call);
    expect(codeOf(real)).toBe("executor_crashed");
    expect(shapeOf(forced)).toEqual(shapeOf(real));
    expect(forced.error).toEqual(real.error);
  });

  test("are for the tool they name; a full queue is for all", async () => {
    const runner = faults(engine).forceTimeout("echo");
    expect(codeOf(await runner.execute({ ...echo, name: "other" }))).toBe("ok");
    expect(codeOf(await runner.execute(echo))).toBe("wall_limit");
    runner.clear().queueFull();
    expect(codeOf(await runner.execute({ ...echo, name: "other" }))).toBe("queue_full");
  });

  test("are for the next calls, in the order in which they were forced", async () => {
    const runner = faults(engine).forceTimeout("echo", { times: 2 }).forceCrash("echo", { times: 1 });
    const codes: string[] = [];
    for (let at = 0; at < 5; at++) codes.push(codeOf(await runner.execute(echo)));
    expect(codes).toEqual(["wall_limit", "wall_limit", "executor_crashed", "ok", "ok"]);
  });

  test("last until they are cleared, for one tool or for all", async () => {
    const runner = faults(engine).forceTimeout("echo").forceCrash("other");
    for (let at = 0; at < 3; at++) expect(codeOf(await runner.execute(echo))).toBe("wall_limit");
    runner.clear("echo");
    expect(codeOf(await runner.execute(echo))).toBe("ok");
    expect(codeOf(await runner.execute({ ...echo, name: "other" }))).toBe("executor_crashed");
    runner.clear();
    expect(codeOf(await runner.execute({ ...echo, name: "other" }))).toBe("ok");
  });

  test.each([0, -1, Number.NaN])("are not for %d calls", (times) => {
    expect(() => faults(engine).forceTimeout("echo", { times })).toThrow(RangeError);
  });

  test("are not for calls that would not have come as far, and are not used up by them", async () => {
    const runner = faults(engine).forceCrash("echo", { times: 1 });
    expect(codeOf(await runner.execute({ name: "nobody", arguments: {} }))).toBe("tool_not_found");
    expect(codeOf(await runner.execute({ name: "echo", arguments: { n: "one" } }))).toBe("invalid_arguments");
    expect(codeOf(await runner.execute(echo, { signal: AbortSignal.abort() }))).toBe("cancelled");
    expect(codeOf(await runner.execute(echo))).toBe("executor_crashed");
  });
});

describe("listeners of a runner with faults", () => {
  test("hear of forced failures as of real ones, and the engine's own hear of real ones only", async () => {
    const heard: string[] = [];
    const heardByEngine: string[] = [];
    const onPre = ({ callId, tool, tenant }: PreEvent) => heard.push(`pre ${callId} ${tool} ${tenant}`);
    const onError = ({ callId, tenant, result }: CallEvent) =>
      heard.push(`error ${callId} ${tenant} ${codeOf(result)}`);
    const onPost = ({ callId }: CallEvent) => heard.push(`post ${callId}`);
    const onEngine = ({ result }: CallEvent) => heardByEngine.push(codeOf(result));
    engine.on("tool:error", onEngine);
    const runner = faults(engine).forceTimeout("echo", { times: 1 });
    runner.on("tool:pre", onPre).on("tool:error", onError).on("tool:post", onPost);
    await runner.execute(echo, { tenant: "acme" });
    await runner.execute({ ...echo, id: "c2" }, { tenant: "acme" });
    runner.off("tool:pre", onPre).off("tool:error", onError).off("tool:post", onPost);
    await runner.forceCrash("echo").execute(echo);
    engine.off("tool:error", onEngine);
    expect(heard).toEqual(["pre c1 echo acme", "error c1 acme wall_limit", "pre c2 echo acme", "post c2"]);
    expect(heardByEngine).toEqual([]);
  });

  test("may block a call that was to fail", async () => {
    const runner = faults(engine).forceCrash("echo");
    const refuse = (event: PreEvent) => event.block("not today");
    runner.on("tool:pre", refuse);
    expect((await runner.execute(echo)).error).toMatchObject({ code: "blocked", message: "not today" });
    runner.off("tool:pre", refuse);
  });
});

test("what stands on a runner sees faults as the engine's: a provider tries a full queue again", async () => {
  const runner = faults(engine).queueFull({ times: 2, retryAfterMs: 1 });
  const provider = toolProvider(runner, { retries: 2 });
  const result = await provider.execute_tool("echo", { n: 2 }, { idempotencyKey: "k-faults" });
  expect(result).toEqual({ success: true, result: { n: 2 }, error: null });
});
