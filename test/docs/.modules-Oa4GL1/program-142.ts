import { Agent, type Model, run, RunState, setTracingDisabled, Usage } from "@openai/agents-core";
import { createEngine } from "glovebox";
import { approvalsForOpenAIAgents, toolsForOpenAIAgents } from "glovebox/adapters";

setTracingDisabled(true);
const source = "export default ({ order }) => `paid back ${order}`;";
const refund = { name: "refund", description: "Pays an order back.", approval: "always", source } as const;
await using engine = await createEngine({ workers: 1, tools: [refund] });
const model = { getResponse: async ({ input }) => answerOf(JSON.stringify(input)) } as Model;
const agent = new Agent({ name: "shop", model, tools: toolsForOpenAIAgents(engine) });

const { state, interruptions } = await run(agent, "Order A-7 never came.");
console.log(interruptions.map(({ name }) => name)); // prints: [ 'refund' ]
const written = state.toString();

const { durable } = engine.calls;
const [call] = (await durable.list({ state: "paused" })).calls;
await durable.decide(call?.id ?? "", { decision: "refuse", reason: "It was delivered.", actor: "ada@example.com" });

const read = await RunState.fromString(agent, written);
if (await approvalsForOpenAIAgents(engine, read)) console.log((await run(agent, read)).finalOutput);
// prints: No money: It was delivered.

/** What a model of a provider says. */
function answerOf(input: string) {
  const called = { type: "function_call" as const, callId: "call_1", name: "refund", arguments: '{"order":"A-7"}' };
  const text = "No money: It was delivered.";
  const content = [{ type: "output_text" as const, text }];
  const said = { type: "message" as const, role: "assistant" as const, status: "completed" as const, content };
  return { usage: new Usage(), output: [input.includes("It was delivered.") ? said : called] };
}
