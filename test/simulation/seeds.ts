import { simulateAll } from "./run.ts";

const [from = 1, count = 1_000] = process.argv.slice(2).map(Number);
for (let first = from; first < from + count;) {
  const { failed, seeds } = await simulateAll(first, from + count - first);
  first += seeds;
  if (failed !== null) console.log(failed.seed, failed.violations[0]?.slice(0, 200));
}
