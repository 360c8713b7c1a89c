import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type DurableFigure, measureResumption, measureWaiting, renderFigures } from "../../bench/calls/durable.ts";
import { runGuarded } from "../load/guarded.ts";

/* The benchmark of calls that wait, for a moment. Its times depend on the machine; what calls hold does not. */

test.each([
  ["plain", false],
  ["sealed", true],
])("calls that wait hold no run, no isolate and no timer, and few bytes of a %s file", async (_file, isSealed) => {
  const calls = 60;
  const figures = await measureWaiting(calls, isSealed, "threads");
  const exact = ["calls that run", "isolates at work", "on disk for each"];
  for (const { name, value, most } of figures) {
    expect(value, name).toSatisfy(Number.isFinite);
    if (exact.includes(name)) expect(value, name).toBeLessThanOrEqual(most ?? 0);
  }
  expect(figures.map(({ name }) => name)).toEqual(expect.arrayContaining(exact));
  // The engine has timers of its own.
  expect(figures.find(({ name }) => name === "more timers")?.value).toBeLessThan(calls / 4);
});

test("a call that goes on ends as it has to, and its time is told beside the bound", async () => {
  const figures = await measureResumption(100, 0, 2, "threads");
  expect(renderFigures(figures)).toMatch(/100 steps, median +[\d.]+ ms +0\.00 ms +missed/);
});

test("the command ends with 1 where a bound is missed, and with 0 where none is", async () => {
  const folder = await mkdtemp(join(tmpdir(), "glovebox-bench-"));
  const json = join(folder, "durable.json");
  const program = new URL("../../bench/calls/durable-run.ts", import.meta.url);
  const { lines, code } = await runGuarded(program, ["--calls", "20", "--rounds", "0", "--json", json], 280_000);
  const { figures } = JSON.parse(await readFile(json, "utf8")) as { readonly figures: readonly DurableFigure[] };
  expect(figures).not.toEqual([]);
  const isMissed = figures.some(({ value, most }) => most !== null && value > most);
  expect(lines.some((line) => line.endsWith("missed"))).toBe(isMissed);
  expect(code).toBe(isMissed ? 1 : 0);
  await rm(folder, { recursive: true });
});
