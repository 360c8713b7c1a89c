/** Bounds of calls that wait: `npm run bench:durable -- --calls 10000 --rounds 30`, and in a sealed file: `--sealed`. */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { describeMachine } from "../report.ts";
import { type DurableFigure, measureResumption, measureWaiting, renderFigures } from "./durable.ts";

const USAGE = "Usage: bench:durable [--calls N] [--rounds N] [--sealed]; 0 leaves one of them out";
const EXIT_USAGE = 2;
/** Steps of a journal, and the milliseconds from a decision to a result. */
const RESUMED = [
  [10, 60],
  [100, 100],
  [1_000, 500],
] as const;

async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      calls: { type: "string", default: "10000" },
      rounds: { type: "string", default: "30" },
      sealed: { type: "boolean", default: false },
    },
  });
  const [calls, rounds] = [Number(values.calls), Number(values.rounds)];
  for (const number of [calls, rounds])
    if (!Number.isInteger(number) || number < 0) throw new RangeError("--calls and --rounds take whole numbers");
  const { cpus, node } = describeMachine();
  console.log(`${new Date().toISOString()}: ${cpus} processors, load ${loadavg()[0]?.toFixed(1)}, Node ${node}`);
  if (calls > 0)
    console.log(
      `\n${calls} calls wait, each after 10 steps\n${renderFigures(await measureWaiting(calls, values.sealed))}`,
    );
  if (rounds === 0) return;
  const resumed: DurableFigure[] = [];
  for (const [steps, mostMs] of RESUMED) resumed.push(...(await measureResumption(steps, mostMs, rounds)));
  console.log(`\nA call goes on, executor process\n${renderFigures(resumed)}`);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  process.exitCode = EXIT_USAGE;
}
