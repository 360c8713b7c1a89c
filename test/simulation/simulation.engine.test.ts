import { expect, test } from "vitest";
import { explain, simulateAll, trace } from "./run.ts";

/** A seed to run again, with its trace. */
const SEED = process.env["SIMULATION_SEED"];

/** Of a line of a trace: its time, its thread, and the beginning of what happens. */
const SHOWN = 26;

test.runIf(SEED !== undefined)("the simulation of the given seed violates nothing", async () => {
  const { violations, trace: lines } = await trace(Number(SEED));
  process.stdout.write(`${lines.join("\n")}\n`);
  expect(violations).toEqual([]);
});

test("every call ends once, and no effect happens twice, whatever falls in whatever order", async () => {
  const { failed, ...summary } = await simulateAll(1, 1_000);
  expect(failed === null ? "" : await explain(failed)).toBe("");
  // What is to be proved did happen.
  expect(summary.restarts).toBeGreaterThan(200);
  expect(summary.replayed).toBeGreaterThan(500);
  expect(summary.ends.get("")).toBeGreaterThan(800);
  expect([...summary.ends.keys()]).toEqual(
    expect.arrayContaining([
      "cancelled",
      "cpu_limit",
      "executor_lost",
      "executor_crashed",
      "memory_limit",
      "tool_error",
    ]),
  );
});

test("a seed is the whole simulation: run again, it takes the same steps", async () => {
  for (const seed of [7, 8, 9, 10, 11, 12]) {
    const [once, again] = [await trace(seed), await trace(seed)];
    // Behind that may be a random word, with which a pipe begins.
    const steps = (lines: readonly string[]): string[] => lines.map((line) => line.slice(0, SHOWN));
    expect(steps(again.trace)).toEqual(steps(once.trace));
  }
});
