/** Calls `process.exit()` without closing its engine, while calls run that do not end. Arguments: the executor, and whether they run. */
import { createEngine } from "../../../src/index.ts";

const [kind, state] = process.argv.slice(2);
const engine = await createEngine({
  executor: kind === "threads" ? "threads" : "process",
  workers: 2,
  tools: [
    {
      name: "loop",
      description: "Never ends.",
      limits: { cpuMs: 60_000, wallMs: 60_000 },
      source: "export default () => { for (;;); }",
    },
    { name: "quick", description: "Ends at once.", source: "export default () => 1" },
  ],
});
await engine.execute({ name: "quick", arguments: {} });
if (state === "busy") {
  for (let n = 0; n < 2; n++) void engine.execute({ name: "loop", arguments: {} });
  await new Promise((done) => setTimeout(done, 300));
}
console.log(Date.now());
process.exit(0);
