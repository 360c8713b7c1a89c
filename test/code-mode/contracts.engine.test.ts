import { Ajv2020 } from "ajv/dist/2020.js";
import type { ToolSet } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CodeMode, codeMode } from "../../src/code-mode/index.ts";
import { toolsForAISDK, toolsForOpenAIAgents } from "../../src/contrib/agents/adapters/index.ts";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { anthropic, callTools, gemini, mcp, openaiChat, openaiResponses } from "../../src/standard/contracts.ts";

const CODE = "return [await tools.math.add({ a: 1, b: 2 }), await tools.math.double({ a: 4 })];";

let engine: Engine;
let mode: CodeMode;
beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [
      { name: "math.add", description: "Adds.", source: "export default ({ a, b }) => a + b;" },
      { name: "math.double", description: "Doubles.", source: "export default ({ a }) => 2 * a;" },
    ],
  });
  mode = codeMode(engine, { typeCheck: "off" });
});
afterAll(() => engine.close());

/** The result of the program, in the text that a model gets. */
function resultIn(text: unknown): unknown {
  return (JSON.parse(String(text)) as { readonly result: unknown }).result;
}

describe("a program that calls two tools is run by a message of", () => {
  test("OpenAI chat completions", async () => {
    const call = {
      id: "c1",
      type: "function",
      function: { name: "run_code", arguments: JSON.stringify({ code: CODE }) },
    };
    const [answer] = await callTools(mode, "openai-chat", { role: "assistant", content: null, tool_calls: [call] });
    expect(resultIn(answer?.content)).toEqual([3, 8]);
  });

  test("OpenAI responses", async () => {
    const call = { type: "function_call", call_id: "c1", name: "run_code", arguments: JSON.stringify({ code: CODE }) };
    const [answer] = await callTools(mode, "openai-responses", { output: [call] });
    expect(resultIn(answer?.output)).toEqual([3, 8]);
  });

  test("Anthropic", async () => {
    const call = { type: "tool_use", id: "c1", name: "run_code", input: { code: CODE } };
    const [answer] = await callTools(mode, "anthropic", { role: "assistant", content: [call] });
    expect(resultIn(answer?.content[0]?.content)).toEqual([3, 8]);
  });

  test("Gemini", async () => {
    const call = { functionCall: { name: "run_code", args: { code: CODE } } };
    const answer = await callTools(mode, "gemini", { role: "model", parts: [call] });
    expect(JSON.stringify(answer)).toContain('"result":[3,8]');
  });

  test("the AI SDK", async () => {
    const tools: ToolSet = toolsForAISDK(mode);
    const answer: unknown = await tools["run_code"]?.execute?.(
      { code: CODE } as never,
      { toolCallId: "c1", messages: [] } as never,
    );
    expect(answer).toMatchObject({ result: [3, 8] });
  });

  test("OpenAI Agents", () => {
    expect(toolsForOpenAIAgents(mode).map(({ name }) => name)).toEqual(["run_code", "search_tools"]);
  });
});

test.each([
  ["OpenAI chat completions", openaiChat],
  ["OpenAI responses", openaiResponses],
  ["Anthropic", anthropic],
  ["Gemini", gemini],
  ["MCP", mcp],
])("the two tools can be written for %s, with schemas that compile", (_name, contract) => {
  const ajv = new Ajv2020({ strict: false });
  for (const tool of mode.list()) {
    const text = JSON.stringify(contract.writeTool(tool));
    expect(text).toContain(tool.name);
    expect(() => ajv.compile(tool.inputSchema as object)).not.toThrow();
  }
});
