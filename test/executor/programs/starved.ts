/** Uses up this process's file descriptors, loses its executor, and gives them back: says whether calls are served again. */
import { closeSync, openSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { createEngine } from "../../../src/index.ts";

let crashed = false;
process.on("uncaughtException", () => (crashed = true));
process.on("unhandledRejection", () => (crashed = true));

const engine = await createEngine({ workers: 1, executor: { kind: "process", spare: false } });
await engine.register({ name: "fine", description: "d", source: "export default () => 'fine'" });
await engine.register({
  name: "wedge",
  description: "d",
  source: "export default () => { Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1); }",
  limits: { cpuMs: 20 },
});
let delayed = false;
engine.on("executor:delay", () => (delayed = true));
const taken: number[] = [];
try {
  for (;;) taken.push(openSync("/dev/null", "r"));
} catch {
  // There are no more.
}
const lost = new Promise((resolve) => engine.on("executor:lost", resolve));
void engine.execute({ name: "wedge", arguments: {} });
await lost;
await delay(500);
for (const fd of taken) closeSync(fd);
const { output } = await engine.execute({ name: "fine", arguments: {} });
console.log(JSON.stringify({ crashed, served: output, delayed }));
await engine.close();
