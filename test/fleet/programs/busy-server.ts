/** A server in a process of its own, at the fleet `test` of the Redis that its first argument names, with timings scaled by its second: its calls never end. It says a line when they are under way. */
import { createFleetEngine } from "../fleet.ts";

const [url = "", scale] = process.argv.slice(2);
const engine = await createFleetEngine({ executor: { kind: "queue", url, fleet: "test" } }, Number(scale));
await engine.register({
  name: "busy",
  description: "never ends",
  source: "export default () => new Promise(() => setInterval(() => undefined, 100))",
});
for (let count = 0; count < 40; count++)
  void engine.execute({ name: "busy", arguments: { text: "x".repeat(100_000) } });
setTimeout(() => process.stdout.write("under way\n"), 1_000);
