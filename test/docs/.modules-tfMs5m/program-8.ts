import { createEngine } from "glovebox";

await using engine = await createEngine({ workers: 1, calls: { path: ":memory:" } });
await engine.register({
  name: "greet",
  description: "Greets.",
  source: "export default ({ name }) => name.toUpperCase();",
});
await engine.execute({ id: "c1", name: "greet", arguments: { name: 7 } }, { tenant: "acme" });

const { calls } = await engine.calls.list({ tenant: "acme", code: "tool_error" });
console.log(calls.map(({ id, error }) => `${id}: ${error}`)); // prints: [ 'c1: name.toUpperCase is not a function' ]
const call = await engine.calls.get("c1");
console.log(call?.detail?.arguments); // prints: { name: 7 }
