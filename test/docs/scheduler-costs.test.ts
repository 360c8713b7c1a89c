import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Report } from "../../bench/report.ts";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

test("the table of the scheduler's decision has the figures of its run", () => {
  const { scenarios } = JSON.parse(read("bench/results/2026-11-24-scheduler.json")) as Report;
  const rows = scenarios.flatMap((scenario) => scenario.rows);
  const lines = [...Map.groupBy(rows, ({ metric }) => metric)].map(([metric, of]) => {
    const waiting = Number(metric.replace("calls_per_second_c", "")).toLocaleString("en-US");
    const costs = of.map(({ median }) => `${(1e6 / median).toFixed(2)} µs`);
    return [waiting, ...costs];
  });
  const table = read("docs/decisions/0003-own-scheduler.md")
    .split("\n")
    .filter((line) => /µs\s*\|$/.test(line))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  expect(table).toEqual(lines);
});
