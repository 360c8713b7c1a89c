/**
 * Where Redis becomes the limit of a fleet: `node bench/fleet/run.ts [--json FILE] [--workers 10,100] [--shards 1,2] [--rounds N]`.
 *
 * Measures what a fleet asks of Redis, puts it into formulas, and lets fleets of 10 to 1,000 worker machines run in
 * simulated time. `--costs FILE` takes what was measured from the report of an earlier run instead.
 */
import { readFile, writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { describeMachine } from "../report.ts";
import { explore } from "./explore.ts";
import { costsFrom, type Measured, measureFleet } from "./measure.ts";
import { renderFleetReport } from "./tables.ts";

const USAGE =
  "Usage: bench/fleet [--json FILE] [--workers 10,100,1000] [--shards 1,2,4] [--rounds N] [--costs FILE] [--seed N]";
const EXIT_USAGE = 2;
const TIMES = 1_000;

interface Command {
  readonly json: string | undefined;
  readonly costs: string | undefined;
  readonly workers: readonly number[];
  readonly shards: readonly number[];
  readonly rounds: number;
  readonly seed: number;
}

/** Throws a `TypeError` or `RangeError` that says which argument is wrong. */
function parseCommand(args: readonly string[]): Command {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: "string" },
      costs: { type: "string" },
      workers: { type: "string", default: "10,30,100,300,1000" },
      shards: { type: "string", default: "1,2,4" },
      rounds: { type: "string", default: "7" },
      seed: { type: "string", default: "1" },
    },
  });
  const [rounds = 1] = readNumbers("rounds", values.rounds);
  const [seed = 1] = readNumbers("seed", values.seed);
  return {
    json: values.json,
    costs: values.costs,
    workers: readNumbers("workers", values.workers),
    shards: readNumbers("shards", values.shards),
    rounds,
    seed,
  };
}

function readNumbers(option: string, text: string): readonly number[] {
  const numbers = text.split(",").map(Number);
  if (numbers.some((number) => !Number.isInteger(number) || number < 1))
    throw new RangeError(`--${option} takes whole numbers of at least 1`);
  return numbers;
}

async function main({ json, costs: from, workers, shards, rounds, seed }: Command): Promise<void> {
  const progress = (text: string): void => console.error(text);
  const startedAt = new Date().toISOString();
  const [loadAverage = 0] = loadavg();
  const measured =
    from === undefined ? await measureFleet({ rounds, times: TIMES, progress }) : await readMeasured(from);
  const costs = costsFrom(measured);
  const explored = explore({ costs, workers, shards, seed, progress });
  const report = { machine: describeMachine(), loadAverage, startedAt, rounds, seed, measured, costs, ...explored };
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  console.log(renderFleetReport(report));
}

async function readMeasured(file: string): Promise<readonly Measured[]> {
  const { measured } = JSON.parse(await readFile(file, "utf8")) as { readonly measured: readonly Measured[] };
  return measured;
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
