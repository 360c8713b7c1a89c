/**
 * `npm run alerts -- [--write] [NAME…]`: brings alerts about, all or those that are named, and those that the same faults
 * bring about; prints after how long each fired, and was gone after the repair. `--write` keeps that for the page
 * `docs/reference/faults.md`. Ends with 1 where one did not fire, or stayed.
 */
import { parseArgs } from "node:util";
import { type AlertOutcome, alertOutcomes } from "../alerts/alert.ts";
import { measureAlerts } from "../alerts/measure.ts";
import { alertNames } from "../alerts/scaling.ts";
import { ALERT_SCENES, TRIED } from "../alerts/table.ts";
import { isPossible } from "../outcomes.ts";

const { values, positionals } = parseArgs({
  options: { write: { type: "boolean", default: false } },
  allowPositionals: true,
});
for (const name of positionals) if (!TRIED.includes(name)) throw new RangeError(`no alert has this name: ${name}`);

const startMs = performance.now();
const seconds = (ms: number | null): string => (ms === null ? "never" : `${(ms / 1_000).toFixed(1)} s`);
let [seen, failed] = [0, 0];
for (const scene of ALERT_SCENES) {
  const trials = scene.trials.filter(
    ({ alerts }) => positionals.length === 0 || alerts.some((name) => positionals.includes(name)),
  );
  if (trials.length === 0) continue;
  if (!isPossible(scene)) {
    console.log(`- ${scene.name}: needs ${scene.needs.join(", ")}`);
    continue;
  }
  try {
    await measureAlerts(scene, trials, tell);
  } catch (error) {
    failed++;
    console.log(`! ${scene.name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
console.log(`${seen} alerts, ${failed} with something wrong, ${seconds(performance.now() - startMs)}`);
process.exitCode = failed === 0 ? 0 : 1;

function tell(outcome: AlertOutcome): void {
  const { alert, fault, firedMs, clearedMs, besides } = outcome;
  const isGood = firedMs !== null && clearedMs !== null;
  seen++;
  if (!isGood) failed++;
  const others = besides === "" ? "" : `; besides ${besides}`;
  console.log(
    `${isGood ? "+" : "!"} ${alert}: fired ${seconds(firedMs)} after ${fault}, gone ${seconds(clearedMs)} after it${others}`,
  );
  if (values.write && isGood) alertOutcomes.keep(outcome, alertNames());
}
