import { createEngine } from "glovebox";

await using engine = await createEngine({ workers: 1 });
await engine.register({
  name: "refund",
  description: "Pays an order back.",
  approval: "always",
  source: "export default ({ order }) => `paid back ${order}`;",
});

const { error } = await engine.execute({ name: "refund", arguments: { order: "A-7" } });
console.log(error?.code); // prints: paused

const { durable } = engine.calls;
const [call] = (await durable.list({ state: "paused" })).calls;
const [wait] = call?.waits ?? [];
if (call === undefined || wait?.kind !== "approval") throw new Error("nothing waits");
console.log(wait.tool, wait.arguments); // prints: refund { order: 'A-7' }

await durable.decide(call.id, { decision: "approve", digest: wait.digest, actor: "ada@example.com" });
const result = await durable.result(call.id, {}, { waitMs: 20_000 });
console.log(result?.output); // prints: paid back A-7
