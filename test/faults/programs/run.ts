/**
 * `npm run faults -- [--write] [NAME…]`: brings faults about, all or those that are named (`redis-*` names several), one
 * after the other, and prints what they come to. `--write` keeps that for the page `docs/reference/faults.md`. Ends with 1
 * where something was not seen, a call was lost, or an effect happened twice.
 */
import { parseArgs } from "node:util";
import type { Fault, Outcome } from "../fault.ts";
import { measure } from "../measure.ts";
import { faultOutcomes, isPossible } from "../outcomes.ts";
import { FAULTS } from "../table.ts";

const { values, positionals } = parseArgs({
  options: { write: { type: "boolean", default: false } },
  allowPositionals: true,
});
const isNamed = (name: string, pattern: string): boolean =>
  pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
const named = FAULTS.filter(({ name }) => positionals.length === 0 || positionals.some((one) => isNamed(name, one)));
if (named.length === 0) throw new RangeError(`no fault has this name: ${positionals.join(", ")}`);

const NAMES = FAULTS.map(({ name }) => name);
const startMs = performance.now();
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
let failed = 0;
for (const fault of named) {
  if (!isPossible(fault)) {
    console.log(`- ${fault.name}: needs ${fault.needs?.join(", ")}`);
    continue;
  }
  const fromMs = performance.now();
  const outcome = await tryTo(fault);
  if (outcome === null) continue;
  const isGood = outcome.missing.length === 0 && outcome.lost === 0 && outcome.twice === 0;
  if (!isGood) failed++;
  print(outcome, isGood, performance.now() - fromMs);
  if (!values.write || !isGood) continue;
  const { missing: _missing, ...kept } = outcome;
  faultOutcomes.keep(kept, NAMES);
}
console.log(`${named.length} faults, ${failed} with something wrong, ${seconds(performance.now() - startMs)}`);
process.exitCode = failed === 0 ? 0 : 1;

/** A fault that cannot be brought about is a failure, and no reason to stop. */
async function tryTo(fault: Fault): Promise<Outcome | null> {
  try {
    return await measure(fault);
  } catch (error) {
    failed++;
    console.log(`! ${fault.name}: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

function print(outcome: Outcome, isGood: boolean, tookMs: number): void {
  const { name, answers, log, metric, ready, recoveryMs, lost, twice, missing } = outcome;
  console.log(`${isGood ? "+" : "!"} ${name} (${seconds(tookMs)})`);
  console.log(`    answers   ${answers}; lost ${lost}, twice ${twice}`);
  console.log(`    log       ${log}`);
  if (metric !== "") console.log(`    metric    ${metric}`);
  if (ready !== null) console.log(`    ready     ${ready.before} | ${ready.during} | ${ready.after}`);
  if (recoveryMs !== null) console.log(`    recovery  ${seconds(recoveryMs)}`);
  for (const one of missing) console.log(`    MISSING   ${one}`);
}
