import { generateText, isStepCount, type ModelMessage, type ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aiSdk, aiTools } from "../../../../src/standard/contracts.ts";
import type { CallEvent, Engine } from "../../../../src/glovebox/index.ts";
import { openEngine } from "../../../standard/contracts/engine.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.close());

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

type Wanted = readonly [toolCallId: string, toolName: string, input: object | string];

/** A model that wants some calls first, and then says what it has. */
function modelThatCalls(...wanted: readonly Wanted[]): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: [
      {
        content: wanted.map(([toolCallId, toolName, input]) => ({
          type: "tool-call",
          toolCallId,
          toolName,
          input: typeof input === "string" ? input : JSON.stringify(input),
        })),
        finishReason: { unified: "tool-calls", raw: undefined },
        usage: USAGE,
        warnings: [],
      },
      {
        content: [{ type: "text", text: "done" }],
        finishReason: { unified: "stop", raw: undefined },
        usage: USAGE,
        warnings: [],
      },
    ],
  });
}

async function run(model: MockLanguageModelV4, abortSignal?: AbortSignal) {
  const tools: ToolSet = aiTools(engine);
  const { text } = await generateText({
    model,
    tools,
    prompt: "What is the weather like?",
    stopWhen: isStepCount(3),
    ...(abortSignal === undefined ? {} : { abortSignal }),
  });
  const messages = model.doGenerateCalls[1]?.prompt ?? [];
  const answers = messages.flatMap((message) => (message.role === "tool" ? message.content : []));
  const outputs = answers.flatMap((part) =>
    part.type === "tool-result" ? [[part.toolCallId, part.output] as const] : [],
  );
  return { text, outputs: new Map(outputs) };
}

describe("the ai package's tool loop", () => {
  test("offers the model every tool with its schema as it is [B02 A29]", async () => {
    const model = modelThatCalls(["c1", "get_weather", { city: "Oslo" }]);
    await run(model);
    const offered = model.doGenerateCalls[0]?.tools ?? [];
    expect(offered.map(({ name }) => name)).toEqual(["fail", "get_weather", "text-dot_upper", "wait"]);
    expect(offered[1]).toMatchObject({
      type: "function",
      description: "Current weather of a city",
      inputSchema: engine.get("get_weather")?.inputSchema,
    });
    expect(offered[0]).toHaveProperty("inputSchema", { type: "object" });
  });

  test("has several calls run and answered, each with its own id [A10]", async () => {
    const { text, outputs } = await run(
      modelThatCalls(
        ["c1", "get_weather", { city: "Oslo" }],
        ["c2", "get_weather", { city: "Paris" }],
        ["c3", "text-dot_upper", { text: "ab" }],
      ),
    );
    expect(text).toBe("done");
    expect(outputs).toEqual(
      new Map<string, unknown>([
        ["c1", { type: "json", value: { city: "Oslo", temperature: 4 } }],
        ["c2", { type: "json", value: { city: "Paris", temperature: 5 } }],
        ["c3", { type: "text", value: "AB" }],
      ]),
    );
  });

  test("goes on after a tool that fails, one that there is not, and arguments that are wrong [E42]", async () => {
    const { text, outputs } = await run(
      modelThatCalls(["c1", "fail", {}], ["c2", "nothing", {}], ["c3", "get_weather", { town: "Oslo" }]),
    );
    expect(text).toBe("done");
    expect(outputs.get("c1")).toEqual({ type: "error-text", value: "RangeError: there is no such place" });
    expect(outputs.get("c2")).toMatchObject({ type: "error-text", value: expect.stringContaining("nothing") });
    expect(outputs.get("c3")).toMatchObject({ type: "error-text", value: expect.stringContaining("/city") });
  });

  test("cancels a call with its own signal", async () => {
    const controller = new AbortController();
    const ended = Promise.withResolvers<CallEvent>();
    const abort = (): void => controller.abort();
    engine.on("tool:pre", abort).on("tool:error", ended.resolve);
    await expect(run(modelThatCalls(["c1", "wait", {}]), controller.signal)).rejects.toThrow();
    expect((await ended.promise).result.error?.code).toBe("cancelled");
    engine.off("tool:pre", abort).off("tool:error", ended.resolve);
  });

  test("takes calls and results of ours as messages of its own", async () => {
    const model = modelThatCalls();
    const call = { id: "c1", name: "text.upper", arguments: { text: "ab" } };
    const messages: ModelMessage[] = [
      { role: "user", content: "Say it loudly" },
      { role: "assistant", content: [aiSdk.writeCall(call)] },
      { role: "tool", content: [aiSdk.writeResult(await engine.execute(call))] },
    ];
    await generateText({ model, messages });
    const [, asked, answered] = model.doGenerateCalls[0]?.prompt ?? [];
    expect(asked?.content).toMatchObject([{ toolCallId: "c1", toolName: "text-dot_upper", input: { text: "ab" } }]);
    expect(answered?.content).toMatchObject([{ toolCallId: "c1", output: { type: "text", value: "AB" } }]);
  });

  test("offers those that are named, and no others", () => {
    expect(Object.keys(aiTools(engine, { names: ["fail", "nothing"] }))).toEqual(["fail"]);
  });
});
