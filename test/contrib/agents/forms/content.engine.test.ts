import { type FunctionTool, invokeFunctionTool, RunContext } from "@openai/agents-core";
import { generateText, stepCountIs, type ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  toolsForAISDK,
  toolsForLangChain,
  toolsForOpenAIAgents,
} from "../../../../src/contrib/agents/adapters/index.ts";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";
import { callTools } from "../../../../src/standard/contracts.ts";

const PNG = `iVBORw0KGgo${"A".repeat(299_989)}`;
const NAMED = "[image/png, 225 kB: this format cannot show it]";
const TOOLS = [
  {
    name: "chart",
    description: "Draws a chart.",
    source: `export default () => ({ content: [{ type: "text", text: "Sales in May:" },
      { type: "image", mimeType: "image/png", data: "iVBORw0KGgo" + "A".repeat(299_989) }] });`,
  },
  {
    name: "book",
    description: "A long text.",
    source: `export default () => ({ content: [
      { type: "resource", resource: { uri: "book:1", text: "word ".repeat(20_000) + "the end" } }] });`,
  },
];

let engine: Engine;
beforeAll(async () => {
  engine = await createEngine({ executor: "threads", workers: 1, tools: TOOLS });
});
afterAll(() => engine.close());

test("callTools shows an image to a model, and leaves it out of texts", async () => {
  const use = { type: "tool_use", id: "c1", name: "chart", input: {} };
  const [claude] = await callTools(engine, "anthropic", { role: "assistant", content: [use] });
  expect(claude?.content[0]?.content).toEqual([
    { type: "text", text: "Sales in May:" },
    { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
  ]);
  const called = { id: "c2", type: "function", function: { name: "chart", arguments: "{}" } };
  const [chat] = await callTools(engine, "openai-chat", { role: "assistant", tool_calls: [called] });
  expect(chat?.content).toEqual(["Sales in May:", NAMED].map((text) => ({ type: "text", text })));
});

test("a model of the AI SDK gets an image as a file", async () => {
  const tools: ToolSet = toolsForAISDK(engine);
  const call = { type: "tool-call", toolCallId: "c1", toolName: "chart", input: "{}" } as const;
  const usage = { inputTokens: {}, outputTokens: {} };
  const answers = [
    { content: [call], finishReason: { unified: "tool-calls" }, usage, warnings: [] },
    { content: [{ type: "text", text: "fine" }], finishReason: { unified: "stop" }, usage, warnings: [] },
  ];
  const asked: unknown[] = [];
  const model = new MockLanguageModelV4({
    doGenerate: ({ prompt }) => Promise.resolve(answers[asked.push(prompt) - 1] as never),
  });
  expect((await generateText({ model, tools, prompt: "Draw.", stopWhen: stepCountIs(3) })).text).toBe("fine");
  const output = {
    type: "content",
    value: [
      { type: "text", text: "Sales in May:" },
      expect.objectContaining({ type: "file", mediaType: "image/png", data: { type: "data", data: PNG } }),
    ],
  };
  expect(asked[1]).toContainEqual(
    expect.objectContaining({ role: "tool", content: [expect.objectContaining({ output })] }),
  );
});

test("OpenAI Agents gets an image in its own form, and LangChain its name", async () => {
  const [tool] = toolsForOpenAIAgents(engine, { names: ["chart"] });
  const given = await invokeFunctionTool({ tool: tool as FunctionTool, runContext: new RunContext(), input: "{}" });
  expect(given).toEqual([
    { type: "text", text: "Sales in May:" },
    { type: "image", image: `data:image/png;base64,${PNG}` },
  ]);
  const [chain] = await toolsForLangChain(engine, { names: ["chart"] });
  expect(await chain?.invoke({})).toBe(`Sales in May:\n\n${NAMED}`);
});

test("the text of a resource is cut as other texts are, and read on", async () => {
  const call = (name: string, args: object) => ({
    tool_calls: [{ id: "c3", type: "function", function: { name, arguments: JSON.stringify(args) } }],
  });
  const [cut] = await callTools(engine, "openai-chat", call("book", {}));
  expect(cut?.content.length).toBeLessThanOrEqual(25_000);
  expect(cut?.content).toContain('"pointer":"/content/0/resource/text"');
  const at = { call: "c3", pointer: "/content/0/resource/text", from: 100_000 };
  const [page] = await callTools(engine, "openai-chat", call("read_output", at));
  expect(page?.content).toMatch(/^the end/);
});
