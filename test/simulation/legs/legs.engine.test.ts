import { expect, test } from "vitest";
import { explain, simulateAll, trace } from "../run.ts";
import { simulateLegs } from "./simulate.ts";

/** A seed to run again, with its trace. */
const SEED = process.env["SIMULATION_LEGS_SEED"];

test.runIf(SEED !== undefined)("the simulation of calls that wait violates nothing with the given seed", async () => {
  const { violations, trace: lines } = await trace(Number(SEED), simulateLegs);
  process.stdout.write(`${lines.join("\n")}\n`);
  expect(violations).toEqual([]);
});

test("calls that wait end once, and no effect happens twice, whatever falls between their runs", async () => {
  const { failed, ...summary } = await simulateAll(1, 200, simulateLegs);
  expect(failed === null ? "" : await explain(failed, simulateLegs)).toBe("");
  // Engines fell, calls went on, and calls ended.
  expect(summary.restarts).toBeGreaterThan(50);
  expect(summary.replayed).toBeGreaterThan(200);
  expect(summary.ends.get("")).toBeGreaterThan(100);
});
