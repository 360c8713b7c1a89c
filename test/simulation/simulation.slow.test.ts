import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { IS_LONG } from "../length.ts";
import { FAULTS } from "./faults.ts";
import { LEG_FAULTS } from "./legs/faults.ts";
import { simulateLegs } from "./legs/simulate.ts";
import { explain, simulateAll } from "./run.ts";

const run = promisify(execFile);
const FIND_FAULT = fileURLToPath(new URL("find-fault.ts", import.meta.url));
/** Most seeds that a fault takes to be found in every run. */
const QUICK = 100;
const SEEDS = 100_000;

// `simulation.engine.test.ts` and `legs.engine.test.ts` have the seeds of every run.
test.runIf(IS_LONG)(
  "every call ends once, and no effect happens twice, in many more simulations",
  async () => {
    const { failed } = await simulateAll(1_001, SEEDS);
    expect(failed === null ? "" : await explain(failed)).toBe("");
  },
  1_200_000,
);

test.runIf(IS_LONG)(
  "calls that wait end once, and no effect happens twice, in many more simulations",
  async () => {
    const { failed } = await simulateAll(1_001, SEEDS, simulateLegs);
    expect(failed === null ? "" : await explain(failed, simulateLegs)).toBe("");
  },
  7_200_000,
);

test("the simulation finds faults that are put into the sources", async () => {
  const all = [...FAULTS, ...LEG_FAULTS];
  const numbers = [...all.keys()].filter((number) => IS_LONG || (all[number]?.within ?? 0) <= QUICK);
  const { stdout } = await run(process.execPath, [FIND_FAULT, ...numbers.map(String)], {
    // The sources, not what is built of them.
    env: { ...process.env, NODE_OPTIONS: "--no-warnings" },
  });
  const lines = stdout.trim().split("\n");
  const found = lines.map((line) => JSON.parse(line) as readonly [number: number, seed: number | null, what: string]);
  const missed = found.filter(([, seed]) => seed === null).map(([number]) => all[number]?.title);
  expect(missed).toEqual([]);
  expect(found).toHaveLength(numbers.length);
}, 1_200_000);
