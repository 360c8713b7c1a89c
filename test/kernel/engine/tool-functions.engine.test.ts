import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine, ToolCallError, unwrap } from "../../../src/glovebox/index.ts";

let engine: Engine;
const ADD = { name: "add", description: "Adds.", source: "export default ({ a, b }) => ({ sum: a + b })" };

beforeAll(async () => {
  engine = await createEngine({ executor: "threads", workers: 1, tools: [ADD] });
});
afterAll(() => engine.close());

describe("engine.tools", () => {
  test("calls a tool with arguments and options", async () => {
    const result = await engine.tools["add"]?.({ a: 1, b: 2 }, { id: "mine" });
    expect(result).toMatchObject({ success: true, output: { sum: 3 }, metadata: { callId: "mine", tool: "add" } });
  });

  test("answers a name that no tool has with tool_not_found", async () => {
    expect(await engine.tools["nothing"]?.({})).toMatchObject({ success: false, error: { code: "tool_not_found" } });
  });

  test("has a tool from its registration to its removal", async () => {
    expect("later" in engine.tools).toBe(false);
    await engine.register({ ...ADD, name: "later" });
    expect("later" in engine.tools).toBe(true);
    await engine.unregister("later");
    expect("later" in engine.tools).toBe(false);
  });

  test("is no promise and has no JSON of its own, unless tools have these names", async () => {
    expect(await Promise.resolve(engine.tools)).toBe(engine.tools);
    expect(JSON.stringify(engine.tools)).toBe("{}");
    await engine.register({ ...ADD, name: "toJSON" });
    expect(await engine.tools["toJSON"]?.({ a: 2, b: 2 })).toMatchObject({ output: { sum: 4 } });
    await engine.unregister("toJSON");
  });
});

describe("unwrap", () => {
  test("gives the output of a call that succeeded", async () => {
    expect(unwrap(await engine.execute({ name: "add", arguments: { a: 1, b: 2 } }))).toEqual({ sum: 3 });
  });

  test("throws a ToolCallError with code and result for one that failed", async () => {
    const result = await engine.execute({ name: "nothing", arguments: {} });
    let thrown: unknown;
    try {
      unwrap(result);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ToolCallError);
    expect(thrown).toMatchObject({ code: "tool_not_found", result, message: 'there is no tool "nothing"' });
  });
});
