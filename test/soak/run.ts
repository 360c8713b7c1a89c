/** The command of a whole run: `npm run soak -- [--calls 1000000] [--seed N]`. Ends with 1 where something grows. */
import { parseArgs } from "node:util";
import { seedOf } from "../load/dice.ts";
import { runGuarded } from "../load/guarded.ts";
import { renderReport, type SoakReport } from "./report.ts";

/** Longest duration of a run: a rate far below any measured one, and the pauses for samples. */
const CALL_MS = 2;
const SLACK_MS = 360_000;
/**
 * isolated-vm gives each turn's timeout to a thread, which sleeps until that has passed even where the turn has long ended:
 * what is left after the longest of them is what stays.
 */
const SETTLE_MS = 5_500;

const { values } = parseArgs({ options: { calls: { type: "string", default: "1000000" }, seed: { type: "string" } } });
const seed = seedOf(values.seed);
console.log(`seed ${seed}`);
const args = ["--calls", values.calls, "--seed", String(seed), "--settle", String(SETTLE_MS)];
const program = new URL("program.ts", import.meta.url);
const { lines, stderr, code } = await runGuarded(program, args, Number(values.calls) * CALL_MS + SLACK_MS);
if (stderr !== "") console.error(stderr);
const report = code === 0 ? (JSON.parse(lines.at(-1) ?? "null") as SoakReport) : null;
if (report === null) console.log(`the run did not come to its end; its last sample: ${lines.at(-1)}`);
else console.log([renderReport(report), ...report.load.firstComplaints].join("\n"));
const isFlat = report !== null && Object.values(report.trends).every(({ verdict }) => verdict === "flat");
process.exitCode = isFlat && report.load.complaints === 0 ? 0 : 1;
