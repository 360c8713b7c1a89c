/**
 * The command of a whole run, on what `npm run build` made: `npm run chaos -- [--seconds 60] [--seed N] [--kill-every 500] [--patient]`.
 * Ends with 1 where something went wrong.
 */
import { parseArgs } from "node:util";
import { seedOf } from "../load/dice.ts";
import { runGuarded } from "../load/guarded.ts";
import type { ChaosReport } from "./report.ts";

/** Time that a run may take beyond the time of its load. */
const SLACK_MS = 120_000;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string" },
    "kill-every": { type: "string", default: "500" },
    engine: { type: "string", default: "dist/glovebox/index.js" },
    patient: { type: "boolean", default: false },
  },
});
const seed = seedOf(values.seed);
console.log(`seed ${seed}`);
const { patient, ...texts } = values;
const args = Object.entries({ ...texts, seed: String(seed) }).flatMap(([name, value]) => [`--${name}`, value]);
if (patient) args.push("--patient");
const program = new URL("program.ts", import.meta.url);
const { lines, stderr, code } = await runGuarded(program, args, Number(values.seconds) * 1e3 + SLACK_MS);
const report = lines[1] === undefined ? null : (JSON.parse(lines[1]) as ChaosReport);
if (stderr !== "") console.error(stderr);
console.log(JSON.stringify(report, null, 2));
const isGood = code === 0 && report !== null && report.innocents.complaints === 0 && report.childrenLeft.length === 0;
console.log(isGood ? "no innocent was harmed" : `FAILED, with seed ${seed}`);
process.exitCode = isGood ? 0 : 1;
