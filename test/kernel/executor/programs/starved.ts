/** Uses up this process's file descriptors, loses its executor, and gives them back: says whether calls are served again. */
import { closeSync, openSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { createEngine } from "../../../../src/glovebox/index.ts";

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
const reasons = new Set<string>();
const causes = new Set<string>();
engine.on("executor:lost", ({ reason, cause }) => {
  reasons.add(reason);
  if (cause !== undefined) causes.add(codeOf(cause));
});
engine.on("executor:delay", ({ cause = "" }) => causes.add(codeOf(cause)));
const codeOf = (text: string | null): string => /\bE[A-Z]+\b/.exec(text ?? "")?.[0] ?? "none";

const taken: number[] = [];
const takeAll = (): void => {
  try {
    for (;;) taken.push(openSync("/dev/null", "r"));
  } catch {
    // There are no more.
  }
};
takeAll();
const lost = new Promise((resolve) => engine.on("executor:lost", resolve));
void engine.execute({ name: "wedge", arguments: {} });
await lost;
// The lost process gave its own back.
for (let again = 0; again < 50; again++) {
  takeAll();
  await delay(10);
}
const { ready, problem } = engine.stats().executor;
const isAdvised = problem?.includes("raise the limit of open files (ulimit -n)") === true;
for (const fd of taken) closeSync(fd);
const { output } = await engine.execute({ name: "fine", arguments: {} });
const after = engine.stats().executor.problem;
console.log(
  JSON.stringify({
    crashed,
    served: output,
    ready,
    problem: codeOf(problem),
    isAdvised,
    after,
    reasons: [...reasons],
    causes: [...causes],
  }),
);
await engine.close();
