import assert from "node:assert/strict";
import { test } from "node:test";
import { MockLanguageModelV4 } from "ai/test";
import { answer } from "./agent.ts";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const rest = { usage, warnings: [] };

test("the model calls a tool, and reads its output", async () => {
  const call = { type: "tool-call" as const, toolCallId: "1", toolName: "greet", input: '{"name":"Ada"}' };
  const model = new MockLanguageModelV4({
    doGenerate: [
      { content: [call], finishReason: { unified: "tool-calls", raw: undefined }, ...rest },
      { content: [{ type: "text", text: "Done." }], finishReason: { unified: "stop", raw: undefined }, ...rest },
    ],
  });
  assert.equal(await answer(model, "Greet Ada."), "Done.");
  assert.match(JSON.stringify(model.doGenerateCalls.at(-1)?.prompt), /Hello, Ada!/);
});
