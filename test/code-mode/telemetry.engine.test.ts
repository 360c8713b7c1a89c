import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type CodeMode, codeMode } from "../../src/code-mode/index.ts";
import type { CallEvent, ProgramCheck } from "../../src/kernel/engine/telemetry/events.ts";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";

const exporter = new InMemorySpanExporter();
const WRONG = "const a = ;";
const RIGHT = "return await tools.echo({ a: 1 })";

let engine: Engine;
let mode: CodeMode;
const checks: ProgramCheck[] = [];
const failed: CallEvent[] = [];
const lines: Record<string, unknown>[] = [];

beforeAll(async () => {
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const logger = pino(
    { level: "debug" },
    { write: (line: string) => void lines.push(JSON.parse(line) as object as never) },
  );
  const tools = [{ name: "echo", description: "Echoes.", source: "export default (input) => input;" }];
  engine = await createEngine({ workers: 1, executor: "threads", logger, tools });
  engine.on("program:check", (event) => checks.push(event));
  engine.on("tool:error", (event) => failed.push(event));
  mode = codeMode(engine, { typeCheck: "off" });
});
afterAll(async () => {
  await engine.close();
  trace.disable();
  context.disable();
});
beforeEach(() => {
  exporter.reset();
  for (const list of [checks, failed, lines]) list.length = 0;
});

const run = (code: unknown, id = "c1") => mode.execute({ id, name: "run_code", arguments: { code } });
async function sample(name: string): Promise<number> {
  const line = (await engine.metrics()).split("\n").find((one) => one.startsWith(`${name} `));
  return Number(line?.split(" ")[1] ?? 0);
}

describe("a refused program", () => {
  test("is an event with its mistakes, and ends as a call does", async () => {
    const { metadata } = await run(WRONG);
    expect(metadata).toMatchObject({ callId: "c1", tool: "run_code", attempts: 0 });
    expect(checks).toEqual([
      {
        callId: "c1",
        tenant: "",
        outcome: "rejected",
        problems: [expect.objectContaining({ line: 1, column: 11, code: "syntax" })],
        durationMs: expect.any(Number) as number,
      },
    ]);
    expect(failed).toMatchObject([
      { callId: "c1", tool: "run_code", result: { error: { code: "invalid_arguments" } } },
    ]);
  });

  test("is counted", async () => {
    const names = [
      'glovebox_program_checks_total{outcome="rejected"}',
      'glovebox_calls_total{tool="run_code",code="invalid_arguments"}',
      'glovebox_rejections_total{code="invalid_arguments"}',
    ];
    const before = await Promise.all(names.map(sample));
    await run(WRONG);
    await run(5);
    // The second is no program at all, so there is nothing to check.
    expect(await Promise.all(names.map(sample))).toEqual([1, 2, 2].map((more, at) => (before[at] ?? 0) + more));
  });

  test("is logged without its text", async () => {
    await run(WRONG);
    const own = lines.map(({ msg, code, outcome, mistakes }) => ({ msg, code, outcome, mistakes }));
    expect(own).toEqual([
      { msg: "a program was checked", code: undefined, outcome: "rejected", mistakes: 1 },
      { msg: "a call ended", code: "invalid_arguments", outcome: undefined, mistakes: undefined },
    ]);
    expect(JSON.stringify(lines)).not.toContain("const a");
  });

  test("is a span with its code, above one of its reading", async () => {
    await run(WRONG);
    const [read, call] = exporter.getFinishedSpans();
    expect(call).toMatchObject({ name: "execute_tool run_code", attributes: { "error.type": "invalid_arguments" } });
    expect(read).toMatchObject({ name: "glovebox.program.read", attributes: { "error.type": "invalid_arguments" } });
    expect(read?.parentSpanContext?.spanId).toBe(call?.spanContext().spanId);
  });

  test("may be that of a closed engine", async () => {
    const other = await createEngine({ workers: 1, executor: "threads" });
    await other.close();
    const result = await codeMode(other).run("return 1");
    expect(result.error?.code).toBe("engine_closed");
  });
});

test("a program that runs has one span, above those of its check, its run and its calls", async () => {
  expect((await run(RIGHT)).success).toBe(true);
  const spans = exporter.getFinishedSpans();
  const nameOf = (id: string | undefined) => spans.find((span) => span.spanContext().spanId === id)?.name;
  expect(new Map(spans.map((span) => [span.name, nameOf(span.parentSpanContext?.spanId)]))).toEqual(
    new Map([
      ["glovebox.program.read", "execute_tool run_code"],
      ["glovebox.program.check", "execute_tool run_code"],
      ["glovebox.queue", "execute_tool echo"],
      ["glovebox.run", "execute_tool run_code"],
      ["execute_tool echo", "glovebox.capability program.call"],
      ["glovebox.capability program.call", "glovebox.run"],
      ["execute_tool run_code", undefined],
    ]),
  );
  expect(checks).toMatchObject([{ outcome: "unchecked", reason: "typeCheck is off", problems: [] }]);
});

test("a search, and a direct call of a hidden tool, are calls that end", async () => {
  const before = await sample('glovebox_calls_total{tool="search_tools",code="ok"}');
  expect((await mode.execute({ name: "search_tools", arguments: { query: "echo" } })).success).toBe(true);
  expect(await sample('glovebox_calls_total{tool="search_tools",code="ok"}')).toBe(before + 1);
  await mode.execute({ name: "echo", arguments: {} });
  await mode.execute({ name: "<b>nobody", arguments: {} });
  expect(failed.map(({ tool, result }) => [tool, result.error?.code])).toEqual([
    ["echo", "tool_not_found"],
    ["<b>nobody", "tool_not_found"],
  ]);
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual([
    "execute_tool search_tools",
    "execute_tool echo",
    "execute_tool",
  ]);
});

describe("the calls of a program in its metadata", () => {
  test("have their order, place, time and id", async () => {
    const code =
      "const first = await tools.echo({});\nreturn Promise.all([\n  tools.echo(first),\n  tools.nobody({}),\n]);";
    const { metadata } = await run(code);
    const [first, second, third] = metadata.calls ?? [];
    expect([first, second, third]).toMatchObject([
      { tool: "echo", code: "ok", line: 1, column: 27 },
      { tool: "echo", code: "ok", line: 3 },
      { tool: "nobody", code: "tool_not_found", line: 4 },
    ]);
    expect(first?.callId).toMatch(/-\d+$/);
    expect(third?.callId).toBeUndefined();
    expect(second?.startMs).toBeGreaterThanOrEqual((first?.startMs ?? 0) + (first?.wallMs ?? Infinity) - 0.2);
    expect(first?.startMs).toBeLessThanOrEqual(metadata.wallMs);
  });

  test("are there for a program that failed, and for a repeat with its key", async () => {
    const { metadata } = await run("await tools.echo({}); throw new Error('no')");
    expect(metadata.calls).toMatchObject([{ tool: "echo", code: "ok" }]);
    const keyed = () => mode.run(RIGHT, { idempotencyKey: "k1" });
    const [first, again] = [await keyed(), await keyed()];
    expect(again).toMatchObject({ output: first.output, metadata: { isRepeated: true, calls: first.metadata.calls } });
  });

  test("have no place where the program hides it", async () => {
    const { metadata } = await run("Error.stackTraceLimit = 0; return tools.echo({})");
    expect(metadata.calls).toMatchObject([{ tool: "echo", code: "ok" }]);
    expect(metadata.calls?.[0]).not.toHaveProperty("line");
  });

  test("say which had not ended with the program", async () => {
    await engine.register({
      name: "wait",
      description: "Waits.",
      source: "export default () => new Promise((r) => setTimeout(r, 5000));",
    });
    const controller = new AbortController();
    const abort = ({ tool }: { readonly tool: string }): void => void (tool === "wait" && controller.abort());
    engine.on("tool:pre", abort);
    const { error, metadata } = await mode.run("await tools.wait({})", { signal: controller.signal });
    engine.off("tool:pre", abort);
    expect(error?.code).toBe("cancelled");
    expect(metadata.calls?.[0]?.tool).toBe("wait");
    expect(metadata.calls?.[0]?.code).not.toBe("ok");
  });
});

test("a program with many calls lists the first of them to its model, and says so", async () => {
  const { output, metadata } = await run("for (let i = 0; i < 120; i++) await tools.echo({}); return 1");
  expect(output).toMatchObject({ calls: { length: 100 }, warnings: ["calls has the first 100 of 120"] });
  expect(metadata.calls).toHaveLength(120);
});
