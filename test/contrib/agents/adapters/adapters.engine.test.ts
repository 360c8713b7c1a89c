import { Agent, type Model, type ModelResponse, run, setTracingDisabled, Usage } from "@openai/agents-core";
import { type FunctionTool, invokeFunctionTool, RunContext } from "@openai/agents-core";
import { generateText, stepCountIs, type ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  toolsForAISDK,
  toolsForLangChain,
  toolsForOpenAIAgents,
} from "../../../../src/contrib/agents/adapters/index.ts";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await createEngine({
    executor: "threads",
    workers: 1,
    tools: [
      {
        name: "add",
        description: "Adds two numbers.",
        source: "export default ({ a, b }) => ({ sum: a + b })",
        inputSchema: {
          type: "object",
          properties: { a: { type: "number" }, b: { type: "number" } },
          required: ["a", "b"],
        },
      },
      { name: "my.fail", description: "Fails.", source: 'export default () => { throw new RangeError("too far"); }' },
      { name: "wait", description: "Waits.", source: "export default () => new Promise(() => {})" },
    ],
  });
});
afterAll(() => engine.close());

describe("toolsForAISDK", () => {
  test("gives generateText tools that a model calls", async () => {
    const tools: ToolSet = toolsForAISDK(engine, { names: ["add"] });
    expect(Object.keys(tools)).toEqual(["add", "read_output"]);
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    };
    const call = { type: "tool-call", toolCallId: "c1", toolName: "add", input: '{"a":1,"b":2}' } as const;
    const answers = [
      { content: [call], finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] } as const,
      {
        content: [{ type: "text", text: "three" }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: [],
      } as const,
    ];
    let at = 0;
    const model = new MockLanguageModelV4({ doGenerate: () => Promise.resolve(answers[at++] as never) });
    const result = await generateText({ model, tools, prompt: "1 + 2?", stopWhen: stepCountIs(3) });
    expect(result.text).toBe("three");
    expect(result.steps[0]?.toolResults[0]?.output).toEqual({ sum: 3 });
  });
});

describe("toolsForOpenAIAgents", () => {
  const invoke = (tool: FunctionTool, input: string, signal?: AbortSignal) =>
    invokeFunctionTool({
      tool,
      runContext: new RunContext(),
      input,
      ...(signal === undefined ? {} : { details: { signal } }),
    });
  const toolOf = (name: string): FunctionTool => {
    const tool = toolsForOpenAIAgents(engine).find((each) => each.name === name);
    if (tool === undefined) throw new Error(`no tool is named ${name}`);
    return tool;
  };

  test("answers with the output as text", async () => {
    expect(await invoke(toolOf("add"), '{"a":1,"b":2}')).toBe('{"sum":3}');
  });

  test("writes a name as the API takes it, and tells the model why a call failed", async () => {
    const written = toolsForOpenAIAgents(engine, { names: ["my.fail"] })[0]?.name ?? "";
    expect(written).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(await invoke(toolOf(written), "{}")).toContain("too far");
    expect(await invoke(toolOf("add"), '{"a":1}')).toMatch(/^Error: .*b/);
    expect(await invoke(toolOf("add"), "no JSON")).toMatch(/^Error: /);
  });

  test("cancels a call with the run", async () => {
    const controller = new AbortController();
    const answer = invoke(toolOf("wait"), "{}", controller.signal);
    setTimeout(() => controller.abort(), 50);
    expect(await answer).toMatch(/^Error: .*cancelled/);
  });

  test("gives an agent's run tools that a model calls", async () => {
    setTracingDisabled(true);
    const usage = new Usage();
    const turns: ModelResponse[] = [
      { usage, output: [{ type: "function_call", callId: "c1", name: "add", arguments: '{"a":1,"b":2}' }] },
      {
        usage,
        output: [
          {
            type: "message",
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: "three" }],
          },
        ],
      },
    ];
    const seen: unknown[] = [];
    const model: Model = {
      getResponse: (request) => {
        seen.push(request.input);
        const next = turns.shift();
        if (next === undefined) throw new Error("the model was asked too often");
        return Promise.resolve(next);
      },
      getStreamedResponse: () => {
        throw new Error("not streamed");
      },
    };
    const agent = new Agent({ name: "a", model, tools: toolsForOpenAIAgents(engine) });
    expect((await run(agent, "1 + 2?")).finalOutput).toBe("three");
    expect(JSON.stringify(seen[1])).toContain(String.raw`{\"sum\":3}`);
  });
});

describe("toolsForLangChain", () => {
  test("gives structured tools that answer with text", async () => {
    const [add] = await toolsForLangChain(engine, { names: ["add"] });
    expect(add).toMatchObject({ name: "add", description: "Adds two numbers." });
    expect(await add?.invoke({ a: 1, b: 2 })).toBe('{"sum":3}');
    const message: unknown = await add?.invoke({ type: "tool_call", id: "c1", name: "add", args: { a: 1, b: 2 } });
    expect(message).toMatchObject({ tool_call_id: "c1", content: '{"sum":3}' });
  });

  test("throws a ToolCallError where a call fails", async () => {
    const [fail] = await toolsForLangChain(engine, { names: ["my.fail"] });
    await expect(fail?.invoke({})).rejects.toMatchObject({ name: "ToolCallError", code: "tool_error" });
  });

  test("cancels a call with the run", async () => {
    const [wait] = await toolsForLangChain(engine, { names: ["wait"] });
    await expect(wait?.invoke({}, { signal: AbortSignal.timeout(50) })).rejects.toThrow();
  });
});
