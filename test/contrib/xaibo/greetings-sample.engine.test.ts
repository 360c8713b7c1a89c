import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { guardedProvider } from "../../../src/contrib/xaibo/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";

const FIXTURES = fileURLToPath(new URL("../../../fixtures/contracts/xaibo/", import.meta.url));

let engine: Engine;

beforeAll(async () => {
  const tools = [`${FIXTURES}greetings.js`, `${FIXTURES}greetings-probe.js`];
  engine = await createEngine({ workers: 1, executor: "threads", tools });
});

afterAll(() => engine.close());

/** What the provider answers inside an isolate, also to what no engine lets through to it. */
async function ask(tool_name: string, parameters: Record<string, unknown>): Promise<unknown> {
  const { output, error } = await engine.execute({ name: "greetings-probe", arguments: { tool_name, parameters } });
  expect(error).toBeNull();
  return output;
}

describe("the document's error handling, in the sandbox", () => {
  test("names the tools there are where one is not found, as the library's does [E25]", async () => {
    const words = "Tool 'get_tides' not found. Available tools: ['greet_person', 'get_time']";
    expect(await ask("get_tides", {})).toEqual({ success: false, error: words });
    const tools = ["greet_person", "get_time"].map((name) => ({ name, description: "Does it." }));
    expect((await guardedProvider({ tools, execute: () => 1 }).execute_tool("get_tides", {})).error).toBe(words);
  });

  test("answers with what its check of parameters says, before anything is executed [E26]", async () => {
    expect(await ask("greet_person", { times: 2 })).toEqual({
      success: false,
      error: "Missing required parameter: name",
    });
  });

  test("answers with an exception as unexpected [E27]", async () => {
    expect(await ask("get_time", {})).toEqual({ success: false, error: "Unexpected error: the clock has stopped" });
  });

  test("wraps what its tool makes [E28]", async () => {
    const result = { greetings: ["Hello, Ada", "Hello, Ada"] };
    expect(await ask("greet_person", { name: "Ada", times: 2 })).toEqual({ success: true, result });
    expect((await engine.execute({ name: "greet_person", arguments: { name: "Ada", times: 2 } })).output).toEqual(
      result,
    );
  });

  test("has error classes that are one family [E21]", async () => {
    const { output } = await engine.execute({ name: "greetings-probe", arguments: {} });
    expect(output).toEqual({ is_tool_error: true });
  });

  test("is the tool's failure for the engine [E19 E27]", async () => {
    expect(await engine.execute({ name: "get_time", arguments: {} })).toMatchObject({
      success: false,
      error: { code: "tool_error", message: "Unexpected error: the clock has stopped" },
    });
  });
});
