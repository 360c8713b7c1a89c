/** A scripted model in place of a real one, such as `openai("…")`: it wants a refund, and says what came of it. */
import { MockLanguageModelV4 } from "ai/test";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

export const model = new MockLanguageModelV4({
  doGenerate: ({ prompt }) => {
    const isAnswered = JSON.stringify(prompt).includes("paid back 120");
    return Promise.resolve({
      content: isAnswered
        ? [{ type: "text" as const, text: "Your 120 euros are on their way." }]
        : [
            {
              type: "tool-call" as const,
              toolCallId: crypto.randomUUID(),
              toolName: "refund",
              input: '{"order":"A-7","amount":120}',
            },
          ],
      finishReason: { unified: isAnswered ? ("stop" as const) : ("tool-calls" as const), raw: undefined },
      usage,
      warnings: [],
    });
  },
});
