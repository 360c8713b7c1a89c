/** A scripted model in place of a real one, such as `openai("…")`: it answers from a list, and makes one mistake. */
import { MockLanguageModelV4 } from "ai/test";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

const call = (toolName: string, input: object) => ({
  content: [{ type: "tool-call" as const, toolCallId: crypto.randomUUID(), toolName, input: JSON.stringify(input) }],
  finishReason: { unified: "tool-calls" as const, raw: undefined },
  usage,
  warnings: [],
});

export const model = new MockLanguageModelV4({
  doGenerate: [
    call("mountain_height", { mountain: "Zugspitze" }),
    call("convert_length", { value: 2962, to: "feet" }),
    call("convert_length", { value: 2962, to: "ft" }),
    {
      content: [{ type: "text", text: "The Zugspitze is 9717.8 feet high." }],
      finishReason: { unified: "stop", raw: undefined },
      usage,
      warnings: [],
    },
  ],
});
