/** The report of a run as tables in Markdown. */
import { formatNumber, type Report } from "../report.ts";
import type { Costs } from "./costs.ts";
import type { Measured } from "./measure.ts";

export interface FleetReport extends Pick<Report, "machine" | "startedAt"> {
  /** Of the last minute before the run. Processor time is measured, but a busy machine makes it longer too. */
  readonly loadAverage: number;
  readonly rounds: number;
  readonly measured: readonly Measured[];
  readonly costs: Costs;
}

export function renderFleetReport({ machine, startedAt, loadAverage, rounds, measured, costs }: FleetReport): string {
  return [
    `${startedAt}: ${machine.cpus} processors, Node ${machine.node}, load average ${formatNumber(loadAverage)}, ${rounds} rounds`,
    "Measured: microseconds and bytes for each operation, medians of the rounds",
    renderMeasured(measured),
    "Costs: a fixed part of each operation, and one that grows with its size",
    renderCosts(costs),
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

function renderCosts(costs: Costs): string {
  return table(
    ["operation", "Redis µs", "more for each call or KB", "client µs", "more for each"],
    Array.from(costs, ([operation, { redisUs, clientUs }]) => [
      operation,
      ...[redisUs.fixed, redisUs.each, clientUs.fixed, clientUs.each].map(formatNumber),
    ]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
