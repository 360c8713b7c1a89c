import { availableParallelism } from "node:os";
import type { Findings, MachineState, Row } from "./scenario.ts";

/** Results of a benchmark run, as they are written to a file. */
export interface Report {
  readonly machine: { readonly cpus: number; readonly node: string; readonly v8: string };
  /** In ISO 8601. */
  readonly startedAt: string;
  /** Smoke runs prove that the benchmarks work: their figures mean nothing. */
  readonly smoke: boolean;
  readonly scenarios: readonly ScenarioReport[];
}

export interface ScenarioReport extends Findings {
  readonly name: string;
  readonly state: MachineState;
}

export function describeMachine(): Report["machine"] {
  return { cpus: availableParallelism(), node: process.versions.node, v8: process.versions.v8 };
}

const HEADINGS = ["subject", "median", "min–max", "p99", "ratio to the baseline"];

/** A table for each scenario, state and metric. */
export function renderReport(report: Report): string {
  const { cpus, node, v8 } = report.machine;
  const head = `${report.startedAt}: ${cpus} processors, Node ${node}, V8 ${v8}`;
  const note = report.smoke ? "\nA smoke run: it proves that the benchmarks work, its figures mean nothing." : "";
  return [`${head}${note}`, ...report.scenarios.map(renderScenario)].join("\n\n");
}

function renderScenario({ name, state, rows, checksum }: ScenarioReport): string {
  const metrics = Map.groupBy(rows, ({ metric }) => metric);
  const tables = [...metrics].map(([metric, of]) => renderMetric(metric, of));
  return [`## ${name}, ${state} (checksum ${checksum})`, ...tables].join("\n\n");
}

function renderMetric(metric: string, rows: readonly Row[]): string {
  const better = rows[0]?.better ?? "lower";
  const table = renderTable([HEADINGS, ...rows.map(renderRow)]);
  return `${metric} (${better} is better)\n${table}`;
}

function renderRow(row: Row): string[] {
  const ratios = Object.entries(row.ratios).map(([baseline, ratio]) => {
    const [lower, upper] = row.ratioQuartiles?.[baseline] ?? [];
    const middle = lower === undefined || upper === undefined ? "" : ` [${formatNumber(lower)}–${formatNumber(upper)}]`;
    return `${formatNumber(ratio)}×${middle} ${baseline}`;
  });
  return [
    row.subject,
    `${formatNumber(row.median)} ${row.unit}`,
    `${formatNumber(row.min)}–${formatNumber(row.max)}`,
    row.p99 === undefined ? "" : formatNumber(row.p99),
    ratios.join(", "),
  ];
}

/** Columns of the first line's number; the first and the last hold text, the others numbers. */
export function renderTable(lines: readonly (readonly string[])[]): string {
  const [headings = []] = lines;
  const columns = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const isText = (column: number) => column === 0 || column === headings.length - 1;
  const render = (line: readonly string[]) =>
    line.map((cell, column) =>
      isText(column) ? cell.padEnd(columns[column] ?? 0) : cell.padStart(columns[column] ?? 0),
    );
  return lines.map((line) => `  ${render(line).join("  ")}`.trimEnd()).join("\n");
}

/** Three digits that count, and thousands apart. */
export function formatNumber(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 || size === 0 ? 2 : 4;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
