/** The report of a run as tables in Markdown. */
import { formatNumber, type Report } from "../report.ts";
import { OPERATIONS } from "./costs.ts";
import type { Cell, Explored, Paper } from "./explore.ts";
import type { Measured } from "./measure.ts";

export interface FleetReport extends Explored, Pick<Report, "machine" | "startedAt"> {
  /** Of the last minute before the run. What is measured is processor time, but a busy machine makes it longer too. */
  readonly loadAverage: number;
  readonly rounds: number;
  readonly seed: number;
  readonly measured: readonly Measured[];
}

export function renderFleetReport(report: FleetReport): string {
  const { machine, startedAt, loadAverage, rounds, measured, paper, idle, cells } = report;
  return [
    `${startedAt}: ${machine.cpus} processors, Node ${machine.node}, load average ${formatNumber(loadAverage)}, ${rounds} rounds`,
    "Measured: microseconds and bytes for each operation, medians of the rounds",
    renderMeasured(measured),
    "On paper: one Redis that is busy all the time",
    renderPaper(paper),
    "A fleet that does nothing",
    table(
      ["machines", "Redis busy"],
      idle.map(({ machines, redisBusy }) => [`${machines}`, percent(redisBusy)]),
    ),
    "In simulated time",
    renderCells(cells),
  ].join("\n\n");
}

function renderMeasured(measured: readonly Measured[]): string {
  return table(
    ["operation", "load", "Redis µs", "least–most", "of it commands", "client µs", "bytes"],
    measured.map((each) => [
      each.operation,
      each.load,
      formatNumber(each.redisUs),
      `${formatNumber(each.redisUsMin)}–${formatNumber(each.redisUsMax)}`,
      formatNumber(each.commandUs),
      formatNumber(each.clientUs),
      formatNumber(each.wireBytes),
    ]),
  );
}

function renderPaper(paper: readonly Paper[]): string {
  const operations = OPERATIONS.filter((operation) => paper.some((each) => each.redisUsPerJob[operation] > 0));
  return table(
    [
      "mix",
      "calls a job",
      ...operations.map((name) => `${name} µs`),
      "µs a call",
      "jobs/s",
      "calls/s",
      "MB/s",
      "machines",
    ],
    paper.map((each) => [
      each.mix,
      `${each.callsPerJob}`,
      ...operations.map((operation) => formatNumber(each.redisUsPerJob[operation])),
      formatNumber(each.redisUsPerCall),
      whole(each.jobsPerSecond),
      whole(each.callsPerSecond),
      formatNumber(each.wireMbPerSecond),
      formatNumber(each.machines),
    ]),
  );
}

function renderCells(cells: readonly Cell[]): string {
  return table(
    [
      "mix",
      "machines",
      "Redis",
      "calls/s",
      "of the bound",
      "limit",
      "calls a job",
      "Redis busy",
      "slots busy",
      "servers busy",
      "wait at 70 %: p50 ms",
      "p99 ms",
    ],
    cells.map(({ mix, machines, shards, gatesAtOnce, most, bounds, calm }) => [
      gatesAtOnce === null ? mix : `${mix}, ${gatesAtOnce} tick at once`,
      `${machines}`,
      `${shards}`,
      whole(most.callsPerSecond),
      percent(most.callsPerSecond / bounds.callsPerSecond),
      bounds.limit,
      formatNumber(most.sharing.callsPerJob),
      percent(most.redisBusiest),
      percent(most.slotsBusy),
      percent(most.serversBusy),
      formatNumber(calm.waitP50Ms),
      formatNumber(calm.waitP99Ms),
    ]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function percent(share: number): string {
  return `${formatNumber(100 * share)} %`;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
