/** Calls `process.exit()` without closing its engine, while calls run that do not end. Arguments: the executor, the state, the number of workers. */
import { createEngine } from "../../../../src/glovebox/index.ts";

const [kind, state, count = "2"] = process.argv.slice(2);
const workers = Number(count);
const engine = await createEngine({
  executor: kind === "threads" ? "threads" : "process",
  workers,
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
if (state === "open") {
  console.log(Date.now());
  process.exit(0);
}
await Promise.all(Array.from({ length: 20 * workers }, () => engine.execute({ name: "quick", arguments: {} })));
if (state === "busy") {
  for (let n = 0; n < workers; n++) void engine.execute({ name: "loop", arguments: {} });
  await new Promise((done) => setTimeout(done, 300));
}
console.log(Date.now());
process.exit(0);
