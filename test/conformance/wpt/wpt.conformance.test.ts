import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { expectOutcome } from "../outcome.ts";
import { suiteFolder, SUITES } from "../suites.ts";
import { Tally } from "../tally.ts";
import { AREAS, levelOf } from "./areas.ts";
import { compare } from "./compare.ts";
import { DIFFERENCES } from "./known-differences.ts";
import type { RunProgram } from "./program-runner.ts";
import { programsOf } from "./programs.ts";
import { runInNode } from "./run-in-node.ts";
import { ENGINE_LIMITS, programTools, runInTool } from "./run-in-tool.ts";

const DEADLINE_MS = 600_000;

const { folder, isWhole } = suiteFolder("wpt");
const harness = readFileSync(join(folder, "resources/testharness.js"), "utf8");

let engine: Engine;
let inNode: RunProgram;

/** Of all areas that have run. */
const tally = new Tally(DIFFERENCES);

beforeAll(async () => {
  inNode = runInNode(harness);
  engine = await createEngine({ executor: "threads", workers: 1, limits: ENGINE_LIMITS, tools: programTools(harness) });
});
afterAll(() => engine.close({ drainMs: 0 }));

describe("the Web Platform Tests that pass in Node pass in a tool", () => {
  test.each(Object.entries(AREAS))(
    "%s, but for the known differences",
    { timeout: DEADLINE_MS },
    async (_area, paths) => {
      const before = tally.passed;
      for (const program of paths.flatMap((path) => programsOf(folder, path))) {
        const inTool = runInTool(engine, levelOf(program.name));
        for (const [subtest, failure] of await compare(program, inNode, inTool))
          tally.add(program.name, subtest, failure);
      }
      expect({ unknown: tally.unknown, passing: tally.passing }).toEqual({ unknown: [], passing: [] });
      expect(tally.passed).toBeGreaterThan(before);
    },
  );

  test.runIf(isWhole)("in at least 99.5 % of those that are for tools", () => {
    expect(tally.share).toBeGreaterThanOrEqual(0.995);
  });

  test.runIf(isWhole)("and have the outcome that the page shows", async () => {
    expect(tally.unused).toEqual([]);
    await expectOutcome("wpt", tally.outcome("Web Platform Tests, chosen areas", SUITES.wpt.pinned));
  });
});
