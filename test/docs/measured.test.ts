import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Report } from "../../bench/report.ts";
import type { BusyReport } from "../load/busy.ts";
import type { WorkersReport } from "../../bench/workers/simulation.ts";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

/** Cells of the table rows of a page that match. */
const rowsOf = (page: string, row: RegExp): string[][] =>
  read(page)
    .split("\n")
    .filter((line) => row.test(line))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

test("the table of the scheduler's decision has the figures of its run", () => {
  const { scenarios } = JSON.parse(read("bench/results/2026-11-24-scheduler.json")) as Report;
  const rows = scenarios.flatMap((scenario) => scenario.rows);
  const lines = [...Map.groupBy(rows, ({ metric }) => metric)].map(([metric, of]) => {
    const waiting = Number(metric.replace("calls_per_second_c", "")).toLocaleString("en-US");
    const costs = of.map(({ median }) => `${(1e6 / median).toFixed(2)} µs`);
    return [waiting, ...costs];
  });
  expect(rowsOf("docs/decisions/0003-own-scheduler.md", /µs\s*\|$/)).toEqual(lines);
});

test("the table of engines with many workers has the figures of its run", () => {
  const { lines } = JSON.parse(read("bench/results/2026-11-24-workers.json")) as WorkersReport;
  const expected = lines.map(({ workers, tools }) => [
    `${workers}`,
    ...tools.map(
      ({ callsPerSecond, hostShare }) =>
        `${Math.round(callsPerSecond).toLocaleString("en-US")}/s, ${Math.round(100 * hostShare)} %`,
    ),
  ]);
  expect(rowsOf("docs/explanation/performance.md", /^\| \d+ +\|.*\/s, \d+ %/)).toEqual(expected);
});

test("the table of paths has the figures of its run", () => {
  const { scenarios } = JSON.parse(read("bench/results/2026-11-25-paths.json")) as Report;
  const ratiosIn = (state: string) =>
    (scenarios.find((scenario) => scenario.state === state)?.rows ?? [])
      .filter(({ unit }) => unit === "/s")
      .flatMap(({ metric, subject, ratios, ratioQuartiles }) =>
        Object.entries(ratios).map(([baseline, ratio]) => {
          const quartiles = ratioQuartiles?.[baseline] ?? [];
          const figure = `${ratio.toFixed(2)}× (${quartiles.map((each) => each.toFixed(2)).join("–")})`;
          return { path: `${metric}: ${subject}`, baseline, figure };
        }),
      );
  const busy = ratiosIn("busy");
  const expected = ratiosIn("quiet").map(({ path, baseline, figure }, at) => [
    path,
    baseline,
    figure,
    busy[at]?.figure,
  ]);
  expect(rowsOf("docs/explanation/performance.md", /× \(.*–.*\) +\|$/)).toEqual(expected);
});

test("the table of a service beside busy neighbours has the figures of its run, in which no call was cut", () => {
  const { lines } = JSON.parse(read("bench/results/2026-12-01-busy.json")) as BusyReport;
  const expected = lines.map(({ loops, calls, cut, p50, p99, p999 }) => [
    `${loops} loops`,
    calls.toLocaleString("en-US"),
    `${cut}`,
    ...[p50, p99, p999].map((ms) => `${Math.round(ms).toLocaleString("en-US")} ms`),
  ]);
  expect(rowsOf("docs/explanation/performance.md", /^\| \d+ loops/)).toEqual(expected);
  expect(lines.filter(({ cut }) => cut > 0)).toEqual([]);
});
