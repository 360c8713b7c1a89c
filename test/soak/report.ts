import type { LoadReport } from "../load/load.ts";
import type { Allowance, Point, Trend } from "./trend.ts";

const MB: Allowance = { absolute: 4, share: 0.05 };
/** Resident memory of processes that make and drop isolates is lumpy. */
const RSS_MB: Allowance = { absolute: 16, share: 0.1 };
/** Less than one more, over the whole run. */
const COUNT: Allowance = { absolute: 0.5, share: 0 };

/** Watched values, and the rise of each that counts as noise. Sizes in MiB. */
export const SERIES = {
  "host heap, after a collection": MB,
  "host memory outside the heap": MB,
  "host RSS": RSS_MB,
  "executors' RSS": RSS_MB,
  "host handles": COUNT,
  "host threads": COUNT,
  "host files": COUNT,
  executors: COUNT,
  "executors' threads": COUNT,
  "executors' files": COUNT,
  isolates: { absolute: 8, share: 0.1 },
} as const satisfies Record<string, Allowance>;
export type SeriesName = keyof typeof SERIES;
export type Sample = Readonly<Record<SeriesName, number>>;

/** What came of a run: data, because it crosses a pipe. */
export interface SoakReport {
  readonly seed: number;
  readonly calls: number;
  /** Calls whose samples were left out: by then everything has been made that is kept. */
  readonly warmUpCalls: number;
  readonly seconds: number;
  readonly load: LoadReport;
  readonly points: Readonly<Record<SeriesName, readonly Point[]>>;
  readonly trends: Readonly<Record<SeriesName, Trend>>;
  readonly childrenLeft: readonly string[];
}

/** The table that people read. */
export function renderReport({ calls, warmUpCalls, seconds, load, trends }: SoakReport): string {
  const head = ["series", "first", "last", "mean", "slope per 100,000 calls", "± error", "verdict"];
  const rows = Object.entries(trends).map(([name, trend]) => [
    name,
    ...[trend.first, trend.last, trend.mean, trend.slopePer100k, trend.errorPer100k].map((value) => value.toFixed(2)),
    trend.verdict,
  ]);
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ");
  const rate = Math.round(calls / seconds);
  return [
    `${calls} calls in ${seconds.toFixed(1)} s (${rate}/s, with the pauses for samples), the first ${warmUpCalls} to warm up`,
    `ends: ${JSON.stringify(load.ends)}, complaints: ${load.complaints}`,
    line(head),
    ...rows.map(line),
  ].join("\n");
}
