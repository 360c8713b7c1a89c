import { createEngine } from "glovebox";

await using engine = await createEngine({
  workers: 1,
  tools: [{ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" }],
  limits: { cpuMs: 500 },
  queue: { maxQueued: 1_000, perTenant: 50 },
});
const { output } = await engine.execute({ name: "add", arguments: { a: 1, b: 2 } }, { tenant: "acme", priority: 5 });
console.log(output); // prints: 3
