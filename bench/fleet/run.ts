/**
 * What a fleet costs its Redis: `node bench/fleet/run.ts [--json FILE] [--rounds N]`. Measures the operations that a fleet does on
 * Redis, each as processor time of Redis's thread.
 */
import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { describeMachine } from "../report.ts";
import { costsFrom, measureFleet } from "./measure.ts";
import { renderFleetReport } from "./tables.ts";

const USAGE = "Usage: bench/fleet [--json FILE] [--rounds N]";
const EXIT_USAGE = 2;
const TIMES = 1_000;

interface Command {
  readonly json: string | undefined;
  readonly rounds: number;
}

/** Throws a `TypeError` or `RangeError` that names the argument that is wrong. */
function parseCommand(args: readonly string[]): Command {
  const { values } = parseArgs({
    args: [...args],
    options: { json: { type: "string" }, rounds: { type: "string", default: "7" } },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new RangeError("--rounds takes a whole number of at least 1");
  return { json: values.json, rounds };
}

async function main({ json, rounds }: Command): Promise<void> {
  const startedAt = new Date().toISOString();
  const [loadAverage = 0] = loadavg();
  const measured = await measureFleet({ rounds, times: TIMES, progress: (text) => console.error(text) });
  const costs = costsFrom(measured);
  const report = { machine: describeMachine(), loadAverage, startedAt, rounds, measured, costs };
  if (json !== undefined)
    await writeFile(json, `${JSON.stringify({ ...report, costs: Object.fromEntries(costs) }, null, 2)}\n`);
  console.log(renderFleetReport(report));
}

function readCommand(): Command | null {
  try {
    return parseCommand(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    return null;
  }
}

const command = readCommand();
if (command === null) process.exitCode = EXIT_USAGE;
else await main(command);
