import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine, type ExecuteOptions, type ToolCall } from "../../../src/glovebox/index.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
  await engine.register({
    name: "double",
    description: "a number, twice",
    inputSchema: { type: "object", properties: { n: { type: "number", maximum: 10 } }, required: ["n"] },
    source: "export default ({ n }) => { console.log('doubling'); return n * 2; }",
  });
});
afterAll(() => engine.close());

const CALL: ToolCall = { name: "double", arguments: { n: 2 } };

describe("a call is refused in words that name the option", () => {
  const text = "a string of 1 to 256 characters";
  test.each<[name: string, value: unknown, form: string]>([
    ["priority", "high", "a number"],
    ["priority", 1n, "a number"],
    ["priority", Number.NaN, "a number"],
    ["tenant", 7, "a string"],
    ["signal", {}, "an AbortSignal"],
    ["limits", "none", "an object"],
    ["maxLimits", [], "an object"],
    ["tools", "double", "a list of strings"],
    ["tools", [1], "a list of strings"],
    ["capabilities", true, "an object"],
    ["record", "yes", "true or false"],
    ["idempotencyKey", "", text],
    ["retries", 6, "a whole number from 0 to 5"],
    ["onLog", "console", "a function"],
    ["onProgress", 1, "a function"],
    ["onCapability", {}, "a function"],
    ["onCpu", [], "a function"],
  ])("%s: %o", async (name, value, form) => {
    expect(await engine.execute(CALL, { [name]: value } as ExecuteOptions)).toMatchObject({
      success: false,
      error: { code: "invalid_arguments", message: `the call's ${name} must be ${form}` },
    });
  });

  test.each([null, 3, "fast", []])("the options themselves: %o", async (options) => {
    expect((await engine.execute(CALL, options as ExecuteOptions)).error?.message).toBe(
      "the call's options must be an object",
    );
  });
});

/** Found by a review: arguments were read twice, and only the first reading was checked. */
describe("the arguments that a tool gets are those that were checked", () => {
  test("where a getter answers otherwise the second time", async () => {
    let reads = 0;
    const args = Object.defineProperty({}, "n", { enumerable: true, get: () => (reads++ === 0 ? 1_000 : 2) });
    expect(await engine.execute({ ...CALL, arguments: args })).toMatchObject({ error: { code: "invalid_arguments" } });
  });

  test("where toJSON replaces them", async () => {
    const args = { n: 2, toJSON: () => ({ n: 1_000 }) };
    expect(await engine.execute({ ...CALL, arguments: args })).toMatchObject({ error: { code: "invalid_arguments" } });
  });
});

/** Found by a review: the rejected promise of a listener ended the host. */
test("a listener of a call that rejects is reported, and the call goes on", async () => {
  const reported: unknown[] = [];
  const onError = (event: unknown) => reported.push(event);
  engine.on("listener:error", onError);
  const onLog = (() => Promise.reject(new Error("the disk is full"))) as () => void;
  expect(await engine.execute(CALL, { onLog })).toMatchObject({ output: 4 });
  await expect.poll(() => reported).toEqual([{ listener: "onLog", error: new Error("the disk is full") }]);
  engine.off("listener:error", onError);
});

describe("closing", () => {
  /** Found by a review: Node fires a timer of more than 24 days at once. */
  test("waits for the last call where it is to wait without end", async () => {
    const closing = await createEngine({ workers: 1, executor: "threads" });
    await closing.register({
      name: "slow",
      description: "waits",
      source: "export default async () => { await new Promise((done) => setTimeout(done, 200)); return 'done'; }",
    });
    const call = closing.execute({ name: "slow", arguments: {} });
    await closing.close({ drainMs: Infinity });
    expect(await call).toMatchObject({ output: "done" });
  });

  test("that waits without end is shortened by a later one, and by no later one that names no time", async () => {
    const closing = await createEngine({ workers: 1, executor: "threads" });
    const source = "export default () => new Promise(() => {});";
    await closing.register({ name: "endless", description: "waits", source });
    const call = closing.execute({ name: "endless", arguments: {} }, { limits: { wallMs: 600_000 } });
    const closes = [Infinity, undefined, 10].map((drainMs) => closing.close(drainMs === undefined ? {} : { drainMs }));
    await Promise.all(closes);
    expect(await call).toMatchObject({ error: { code: "engine_closed" } });
  });

  test.each([-1, Number.NaN, "5"])("is refused for %o milliseconds", async (drainMs) => {
    await expect(engine.close({ drainMs: drainMs as number })).rejects.toThrow(
      "drainMs must be a number of at least 0",
    );
    expect(engine.stats().state).toBe("open");
  });
});
