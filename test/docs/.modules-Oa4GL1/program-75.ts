import { generateText, isStepCount, type ModelMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createEngine } from "glovebox";
import { approvalsForAISDK, toolsForAISDK } from "glovebox/adapters";

const source = "export default ({ order }) => `paid back ${order}`;";
const refund = { name: "refund", description: "Pays an order back.", approval: "always", source } as const;
await using engine = await createEngine({ workers: 1, tools: [refund] });
const model = new MockLanguageModelV4({ doGenerate: async ({ prompt }) => answerOf(JSON.stringify(prompt)) });
const ask = (messages: ModelMessage[]) =>
  generateText({ model, messages, tools: toolsForAISDK(engine), stopWhen: isStepCount(5) });

const messages: ModelMessage[] = [{ role: "user", content: "Order A-7 never came." }];
const { content, response } = await ask(messages);
console.log(content.map(({ type }) => type)); // prints: [ 'tool-call', 'tool-approval-request' ]
messages.push(...response.messages);
console.log(await approvalsForAISDK(engine, messages)); // prints: null

// Anybody whom your application lets decide, also in another process: the stored call's callId is the id of the tool call.
const { durable } = engine.calls;
const [call] = (await durable.list({ state: "paused" })).calls;
const [wait] = call?.waits ?? [];
if (call === undefined || wait?.kind !== "approval") throw new Error("nothing waits");
await durable.decide(call.id, { decision: "approve", digest: wait.digest, actor: "ada@example.com" });

const answers = await approvalsForAISDK(engine, messages);
if (answers !== null) messages.push({ role: "tool", content: answers });
console.log((await ask(messages)).text); // prints: Your money is on its way.

/** What a model of a provider says. */
function answerOf(prompt: string) {
  const call = { type: "tool-call" as const, toolCallId: "call_1", toolName: "refund", input: '{"order":"A-7"}' };
  const isPaid = prompt.includes("paid back A-7");
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const unified = isPaid ? ("stop" as const) : ("tool-calls" as const);
  const said = isPaid ? { type: "text" as const, text: "Your money is on its way." } : call;
  return { content: [said], finishReason: { unified, raw: undefined }, usage, warnings: [] };
}
