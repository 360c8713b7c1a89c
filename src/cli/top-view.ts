import { describeFleet, listMachines, wrap } from "./fleet-view.ts";
import type { Snapshot, ToolLine } from "./stats-feed.ts";

/** Sort order of tools. */
export type TopOrder = "calls" | "cpu" | "errors";

/** State of the screen besides the snapshot. */
export interface TopView {
  /** URL origin of the server. */
  readonly origin: string;
  readonly columns: number;
  readonly rows: number;
  readonly order: TopOrder;
  /** Snapshots, the oldest first, including the current one. */
  readonly history: readonly Snapshot[];
  /** Reason why there is no newer snapshot. */
  readonly problem: string | null;
}

const LABEL_WIDTH = 12;
/** Lines reserved for machines: an empty line, headings, and some machines. */
const MACHINE_LINES = 6;
const BARS = "▁▂▃▄▅▆▇█";
const TENTHS = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const NUMBER_WIDTHS = [11, 9, 10, 11];
const HEADINGS = ["calls/s", "errors/s", "cpu ms/s", "p99"];

/** Renders the lines of a screen, within its width and height. They may contain control characters. */
export function renderTop(snapshot: Snapshot, view: TopView): readonly string[] {
  const head = [...summaryOf(snapshot, view.origin), ...chartsOf(view)];
  const room = view.rows - head.length - 2;
  const machines = machinesOf(snapshot);
  // Show some machines, however many tools exist.
  const tools = toolsOf(snapshot, view).slice(0, Math.max(0, room - Math.min(machines.length, MACHINE_LINES)));
  const listed = [...tools, ...machines].slice(0, Math.max(0, room));
  const last = view.problem ?? "q quits; tools by c calls, u processor time, e errors";
  const lines = [...head, ...listed];
  const padding = Array.from({ length: Math.max(0, view.rows - lines.length - 1) }, () => "");
  return [...lines, ...padding, last].slice(-view.rows).map((line) => line.slice(0, view.columns));
}

/** Describes a snapshot for output other than a live screen. */
export function describeSnapshot(snapshot: Snapshot, origin: string): readonly string[] {
  const tools = toolsOf(snapshot, { columns: 100, order: "calls" });
  return [...summaryOf(snapshot, origin), ...tools, ...machinesOf(snapshot)];
}

function machinesOf({ executor: { fleet } }: Snapshot): readonly string[] {
  return fleet === undefined ? [] : listMachines(fleet);
}

function summaryOf(snapshot: Snapshot, origin: string): string[] {
  const { time, uptimeMs, state, calls, queued, running, executor, isolates, restarts, quarantined, http, problems } =
    snapshot;
  const said = [state, `up ${duration(uptimeMs)}`, time];
  const readiness = [executor.ready ? "ready" : "NOT READY", executor.spareReady ? "spare ready" : "no spare"];
  const sandbox = executor.sandbox.kind === "off" ? "no sandbox" : executor.sandbox.kind;
  return [
    `${"glovebox".padEnd(LABEL_WIDTH)}${[origin, ...said].join("   ")}`,
    row("calls", [`${number(calls.perSecond)}/s`, `${number(calls.errorsPerSecond)} errors/s`]),
    row("latency", [`p50 ${ms(calls.p50Ms)}`, `p95 ${ms(calls.p95Ms)}`, `p99 ${ms(calls.p99Ms)}`]),
    row("queue", [`${number(queued)} waiting`, `${number(running)} running`]),
    row("executors", [[executor.kind, ...readiness, sandbox].join(", ")]),
    ...(executor.fleet === undefined ? [] : describeFleet(executor.fleet)).map((line, at) =>
      row(at === 0 ? "fleet" : "", [line]),
    ),
    row("", [`memory ${mebibytes(executor.rssBytes)} MiB`, `${number(restarts)} restarts`]),
    row("isolates", [`${isolates.active} active`, `${isolates.warm} warm`, `${isolates.blank} blank`]),
    row("http", [`${number(http.connections)} connections`, `${number(http.streams)} streams`]),
    ...problems.flatMap((problem) => wrap(problem).map((line, at) => row(at === 0 ? "problem" : "", [line]))),
    row("quarantine", [quarantined.length === 0 ? "none" : `${quarantined.length}: ${quarantined.join(", ")}`]),
  ];
}

function row(label: string, values: readonly string[]): string {
  return label.padEnd(LABEL_WIDTH) + values.join("   ");
}

function chartsOf({ history, columns, rows }: TopView): string[] {
  // Screens with few rows show only numbers.
  if (rows < 20) return [""];
  const shown = history.slice(-Math.max(1, columns - LABEL_WIDTH));
  return [
    "",
    chart(
      "calls/s",
      shown.map(({ calls }) => calls.perSecond),
    ),
    chart(
      "p99",
      shown.map(({ calls }) => calls.p99Ms ?? 0),
    ),
    "",
  ];
}

/** A bar chart, scaled to the greatest value. */
function chart(label: string, values: readonly number[]): string {
  const most = Math.max(...values, Number.MIN_VALUE);
  const bars = values.map((value) => BARS[Math.round((Math.max(0, value) / most) * (BARS.length - 1))] ?? " ");
  return label.padEnd(LABEL_WIDTH) + bars.join("");
}

function toolsOf({ tools }: Snapshot, { columns, order }: Pick<TopView, "columns" | "order">): string[] {
  const width = Math.max(8, columns - NUMBER_WIDTHS.reduce((sum, one) => sum + one, 0));
  const line = (name: string, values: readonly string[]): string =>
    name.slice(0, width - 1).padEnd(width) + values.map((value, at) => value.padStart(NUMBER_WIDTHS[at] ?? 0)).join("");
  const inOrder = tools.toSorted((a, b) => weight(b, order) - weight(a, order));
  return [
    line("tool", HEADINGS),
    ...inOrder.map(({ name, callsPerSecond, errorsPerSecond, cpuMsPerSecond, p99Ms }) =>
      line(name, [number(callsPerSecond), number(errorsPerSecond), number(cpuMsPerSecond), ms(p99Ms)]),
    ),
  ];
}

function weight({ callsPerSecond, cpuMsPerSecond, errorsPerSecond }: ToolLine, order: TopOrder): number {
  switch (order) {
    case "calls":
      return callsPerSecond;
    case "cpu":
      return cpuMsPerSecond;
    case "errors":
      return errorsPerSecond;
  }
}

function number(value: number): string {
  return (value < 100 ? TENTHS : WHOLE).format(value);
}

function ms(value: number | null): string {
  if (value === null) return "-";
  return `${value < 10 ? value.toFixed(2) : number(value)} ms`;
}

function mebibytes(bytes: number): string {
  return number(Math.round(bytes / 1024 ** 2));
}

/** A duration in its two largest units. */
function duration(timeMs: number): string {
  const seconds = Math.floor(timeMs / 1_000);
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  const shown = first < 0 ? parts.slice(-1) : parts.slice(first, first + 2);
  return shown.map(([count, unit]) => `${count}${unit}`).join(" ");
}
