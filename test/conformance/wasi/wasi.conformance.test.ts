import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { byReason, expectOutcome } from "../outcome.ts";
import { suiteFolder, SUITES } from "../suites.ts";
import { NOT_APPLICABLE, REFUSED } from "./known-differences.ts";
import { readCases, runCase } from "./run-case.ts";

const { folder, isWhole } = suiteFolder("wasi");
const cases = await readCases(folder);
const names = cases.map(({ name }) => name);
const running = cases.filter(({ name }) => !NOT_APPLICABLE.has(name));

let engine: Engine;
beforeAll(async () => {
  engine = await createEngine({ executor: "threads", workers: 1 });
});
afterAll(() => engine.close({ drainMs: 0 }));

test("there are cases", () => {
  expect(running.length).toBeGreaterThanOrEqual(isWhole ? 60 : 3);
});

test.each(running)("$name ends as it should, or is known not to", async (one) => {
  const fault = await runCase(engine, one);
  // A known difference that passes by now leaves the list.
  if (REFUSED.has(one.name)) expect(fault).not.toBeNull();
  else expect(fault).toBeNull();
});

test.runIf(isWhole)("the outcome is the one in the repository", async () => {
  expect([...NOT_APPLICABLE.keys(), ...REFUSED.keys()].filter((name) => !names.includes(name))).toEqual([]);
  await expectOutcome("wasi", {
    suite: "WASI preview 1, wasi-testsuite",
    version: SUITES.wasi.pinned,
    passed: running.length - REFUSED.size,
    notApplicable: byReason(NOT_APPLICABLE),
    refused: byReason(REFUSED),
    open: [],
  });
});
