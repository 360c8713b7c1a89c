/**
 * `npm run load:busy -- [--rate CALLS] [--ms MS] [--json FILE]`: a service on two processors beside 0, 2, 4 and 8 endless
 * loops. Ends with 1 where a call of an innocent tool was cut.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { describeMachine, renderTable } from "../../../bench/report.ts";
import { type BusyReport, measureBusy } from "../busy.ts";

const LOOPS = [0, 2, 4, 8];
const { values } = parseArgs({
  options: {
    rate: { type: "string", default: "100" },
    ms: { type: "string", default: "15000" },
    json: { type: "string" },
  },
});
const perSecond = Number(values.rate);
const startedAt = new Date().toISOString();
const lines = await measureBusy(LOOPS, perSecond, Number(values.ms));
const cells = lines.map(({ loops, calls, cut, wrong, p50, p99, p999 }) => [
  `${loops}`,
  `${calls}`,
  `${cut}`,
  ...[p50, p99, p999].map((ms) => `${ms.toFixed(1)} ms`),
  JSON.stringify(wrong),
]);
console.log(renderTable([["loops", "calls", "cut", "p50", "p99", "p99.9", "wrong"], ...cells]));
const report: BusyReport = { machine: describeMachine(), startedAt, perSecond, lines };
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
process.exitCode = lines.some(({ cut }) => cut > 0) ? 1 : 0;
