/** A server in a process of its own, at the fleet `test` of the Redis that its argument names: its calls never end. It says a line when they are under way. */
import { createEngine } from "../../../src/index.ts";

const engine = await createEngine({ executor: { kind: "queue", url: process.argv[2] ?? "", fleet: "test" } });
await engine.register({
  name: "busy",
  description: "never ends",
  source: "export default () => new Promise(() => setInterval(() => undefined, 100))",
});
for (let count = 0; count < 40; count++)
  void engine.execute({ name: "busy", arguments: { text: "x".repeat(100_000) } });
setTimeout(() => process.stdout.write("under way\n"), 1_000);
