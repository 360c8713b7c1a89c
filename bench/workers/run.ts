/**
 * How many workers one engine keeps at work: `node bench/workers/run.ts [--json FILE] [--rounds N]`. Measures what a call
 * costs the embedder's thread and a worker's, and simulates engines with more workers than this machine has processors.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { describeMachine, formatNumber, renderTable } from "../report.ts";
import { measureDispatch } from "./measure.ts";
import { type DispatchCosts, type SimulatedLine, simulate, type WorkersReport } from "./simulation.ts";

const USAGE = "Usage: bench/workers [--json FILE] [--rounds N]";
const EXIT_USAGE = 2;
const WORKERS = [1, 2, 4, 8, 16, 32, 64];
const TOOLS_US = [0, 10, 100, 1_000, 10_000];
const IN_FLIGHT = 64;

function simulateAll(costs: DispatchCosts): readonly SimulatedLine[] {
  return WORKERS.map((workers) => ({
    workers,
    tools: TOOLS_US.map((toolUs) => ({
      toolUs,
      ...simulate(costs, { workers, toolUs, inFlightPerWorker: IN_FLIGHT }),
    })),
  }));
}

function render({ host, worker }: DispatchCosts, lines: readonly SimulatedLine[]): string {
  const head = [host, worker].map(
    ({ batchUs, callUs }) => `${formatNumber(batchUs)} us a batch and ${formatNumber(callUs)} a call`,
  );
  const table = renderTable([
    ["workers", ...TOOLS_US.map((us) => `${us} us`), ""],
    ...lines.map(({ workers, tools }) => [
      `${workers}`,
      ...tools.map(
        ({ callsPerSecond, hostShare }) => `${formatNumber(callsPerSecond)}/s ${Math.round(100 * hostShare)} %`,
      ),
      "",
    ]),
  ]);
  return `Host: ${head[0]}. Worker: ${head[1]}.\nCalls per second, and the share of the host's thread, by the tool's own time:\n\n${table}`;
}

async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { json: { type: "string" }, rounds: { type: "string", default: "9" } },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new RangeError("--rounds takes a whole number of at least 1");
  const startedAt = new Date().toISOString();
  const costs = await measureDispatch(rounds, (text) => console.error(text));
  const lines = simulateAll(costs);
  const report: WorkersReport = {
    machine: describeMachine(),
    startedAt,
    rounds,
    inFlightPerWorker: IN_FLIGHT,
    costs,
    lines,
  };
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`);
  console.log(render(costs, lines));
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  process.exitCode = EXIT_USAGE;
}
