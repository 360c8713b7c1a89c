import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/index.ts";
import { byReason, expectOutcome } from "../outcome.ts";
import { suiteFolder, SUITES } from "../suites.ts";
import { AREAS, levelOf } from "./areas.ts";
import { type Difference, knownDifference, DIFFERENCES } from "./known-differences.ts";
import type { RunProgram } from "./program-runner.ts";
import { type Program, programsOf } from "./programs.ts";
import { runInNode } from "./run-in-node.ts";
import { ENGINE_LIMITS, programTools, runInTool } from "./run-in-tool.ts";

const DEADLINE_MS = 600_000;

const { folder, isWhole } = suiteFolder("wpt");
const harness = readFileSync(join(folder, "resources/testharness.js"), "utf8");

let engine: Engine;
let inNode: RunProgram;

/** Of all areas that have run. */
let passed = 0;
let unknownCases = 0;
const differing: (readonly [subtest: string, known: Difference])[] = [];

beforeAll(async () => {
  inNode = runInNode(harness);
  engine = await createEngine({ executor: "threads", workers: 1, limits: ENGINE_LIMITS, tools: programTools(harness) });
});
afterAll(() => engine.close({ drainMs: 0 }));

/** Subtests that pass in Node, with what the tool's harness says of each: nothing where it passes there, too. */
async function compare(program: Program): Promise<(readonly [subtest: string, failure: string | null])[]> {
  const [reference, run] = [await inNode(program), await runInTool(engine, levelOf(program.name))(program)];
  const failures = new Map(run.subtests.map(({ name, failure }) => [name, failure]));
  const lost = `no result: ${run.failure ?? "the harness has not run it"}`;
  return reference.subtests.flatMap(({ name, failure }) => {
    if (failure !== null) return [];
    const found = failures.get(name);
    return [[name, found === undefined ? lost : found] as const];
  });
}

describe("the Web Platform Tests that pass in Node pass in a tool", () => {
  test.each(Object.entries(AREAS))(
    "%s, but for the known differences",
    { timeout: DEADLINE_MS },
    async (_area, paths) => {
      const before = passed;
      const unknown: string[] = [];
      const passing: string[] = [];
      for (const program of paths.flatMap((path) => programsOf(folder, path))) {
        for (const [subtest, failure] of await compare(program)) {
          const name = `${program.name}: ${subtest}`;
          const known = knownDifference(program.name, subtest);
          if (failure === null) passed += 1;
          if (failure === null && known !== undefined) passing.push(name);
          if (failure !== null && known === undefined) unknown.push(`${name}: ${failure}`);
          if (failure !== null && known !== undefined) differing.push([name, known]);
        }
      }
      unknownCases += unknown.length;
      expect({ unknown, passing }).toEqual({ unknown: [], passing: [] });
      expect(passed).toBeGreaterThan(before);
    },
  );

  test.runIf(isWhole)("in at least 99.5 % of those that are for tools", () => {
    const missed = differing.filter(([, { kind }]) => kind !== "notApplicable").length;
    expect(passed / (passed + missed)).toBeGreaterThanOrEqual(0.995);
  });

  test.runIf(isWhole)("and have the outcome that the page shows", async () => {
    expect(unknownCases).toBe(0);
    const found = new Set(differing.map(([, known]) => known));
    expect(DIFFERENCES.filter((known) => !found.has(known))).toEqual([]);
    const reasons = (kind: Difference["kind"]) =>
      byReason(differing.flatMap(([name, known]) => (known.kind === kind ? [[name, known.reason] as const] : [])));
    await expectOutcome("wpt", {
      suite: "Web Platform Tests, chosen areas",
      version: SUITES.wpt.pinned,
      passed,
      notApplicable: reasons("notApplicable"),
      refused: reasons("refused"),
      open: reasons("open"),
    });
  });
});
