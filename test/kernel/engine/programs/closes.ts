/** Uses an engine in every way that could leave something behind, closes it, and must then end by itself. */
import { createEngine } from "../../../../src/glovebox/index.ts";

const kind = process.argv[2] === "threads" ? "threads" : "process";
const [one, two] = await Promise.all([createEngine({ executor: kind, workers: 1 }), createEngine({ executor: kind })]);
for (const engine of [one, two]) {
  await engine.register({ name: "add", description: "adds", source: "export default ({ a, b }) => a + b;" });
  await engine.register({
    name: "never",
    description: "never ends",
    source: "export default () => new Promise(() => {});",
  });
  await engine.register({
    name: "timer",
    description: "waits",
    source:
      "export default () => { setInterval(() => {}, 10); return new Promise((done) => setTimeout(done, 200, 'late')); };",
  });
}
const sum = await one.execute({ name: "add", arguments: { a: 1, b: 2 } });
const never = one.execute({ name: "never", arguments: {} });
const late = two.execute({ name: "timer", arguments: {} });
await Promise.all([one.close({ drainMs: 100 }), two.close({ drainMs: 60_000 })]);
const after = await one.execute({ name: "add", arguments: { a: 1, b: 2 } });
console.log(
  JSON.stringify([sum.output, (await never).error?.code, (await late).output, after.error?.code, one.stats().state]),
);
