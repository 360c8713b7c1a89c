/**
 * Bounds of calls that wait: `npm run bench:durable -- --calls 10000 --rounds 30`, and in a sealed file: `--sealed`. Exits
 * with 1 where one of them is missed. `--json FILE` writes the figures.
 */
import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { describeMachine } from "../report.ts";
import { type DurableFigure, isKept, measureResumption, measureWaiting, renderFigures } from "./durable.ts";

const USAGE = "Usage: bench:durable [--calls N] [--rounds N] [--sealed] [--json FILE]; 0 leaves one of them out";
const EXIT_MISSED = 1;
const EXIT_USAGE = 2;
/** Steps of a journal, and the milliseconds from a decision to a result. */
const RESUMED = [
  [10, 60],
  [100, 100],
  [1_000, 500],
] as const;

/** Returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      calls: { type: "string", default: "10000" },
      rounds: { type: "string", default: "30" },
      sealed: { type: "boolean", default: false },
      json: { type: "string" },
    },
  });
  const { sealed, json } = values;
  const [calls, rounds] = [Number(values.calls), Number(values.rounds)];
  for (const number of [calls, rounds])
    if (!Number.isInteger(number) || number < 0) throw new RangeError("--calls and --rounds take whole numbers");
  const machine = describeMachine();
  const startedAt = new Date().toISOString();
  const load = loadavg()[0] ?? 0;
  console.log(`${startedAt}: ${machine.cpus} processors, load ${load.toFixed(1)}, Node ${machine.node}`);
  const figures: DurableFigure[] = [];
  const tell = (what: string, more: readonly DurableFigure[]): void => {
    console.log(`\n${what}\n${renderFigures(more)}`);
    figures.push(...more);
  };
  if (calls > 0)
    tell(
      `${calls} calls wait${sealed ? " in a sealed file" : ""}, each after 10 steps`,
      await measureWaiting(calls, sealed),
    );
  if (rounds > 0) {
    const resumed: DurableFigure[] = [];
    for (const [steps, mostMs] of RESUMED) resumed.push(...(await measureResumption(steps, mostMs, rounds)));
    tell("A call goes on, executor process", resumed);
  }
  const report = { machine, startedAt, load, calls, rounds, sealed, figures };
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  return figures.every(isKept) ? 0 : EXIT_MISSED;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  process.exitCode = EXIT_USAGE;
}
