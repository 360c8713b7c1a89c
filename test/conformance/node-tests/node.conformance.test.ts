import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { expectOutcome } from "../outcome.ts";
import { suiteFolder, SUITES } from "../suites.ts";
import { Tally } from "../tally.ts";
import { AREAS } from "./areas.ts";
import { DIFFERENCES } from "./known-differences.ts";
import { type Program, programsOf } from "./programs.ts";
import { ENGINE_LIMITS, PROGRAM_TOOL, runInNode, runInTool } from "./run-program.ts";

const DEADLINE_MS = 600_000;

const { folder, isWhole } = suiteFolder("node");
const tally = new Tally(DIFFERENCES);

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ executor: "threads", workers: 1, limits: ENGINE_LIMITS, tools: [PROGRAM_TOOL] });
});
afterAll(() => engine.close({ drainMs: 0 }));

/** Takes the cases that pass in Node: those that use its internal modules, flags or processes do not, under the harness. */
async function compare(program: Program): Promise<void> {
  const [reference, run] = [await runInNode(program), await runInTool(engine)(program)];
  for (const [name, failure] of reference.cases) {
    if (failure !== null) continue;
    const found = run.cases.get(name);
    tally.add(program.name, name, found === undefined ? `lost: ${run.ended ?? "its test has not begun"}` : found);
  }
}

describe("statements of Node's own test files that pass in Node pass in a tool", () => {
  test.each(Object.entries(AREAS))(
    "%s, but for the known differences",
    { timeout: DEADLINE_MS },
    async (_module, patterns) => {
      const before = tally.passed;
      for (const program of programsOf(folder, patterns)) await compare(program);
      expect({ unknown: tally.unknown, passing: tally.passing }).toEqual({ unknown: [], passing: [] });
      expect(tally.passed).toBeGreaterThan(before);
    },
  );

  test.runIf(isWhole)("in at least 90 % of those that are for tools", () => {
    expect(tally.share).toBeGreaterThanOrEqual(0.9);
  });

  test.runIf(isWhole)("and have the outcome that the page shows", async () => {
    expect(tally.unused).toEqual([]);
    const modules = Object.keys(AREAS).join(", ");
    await expectOutcome("node", tally.outcome(`Node's own tests of ${modules}, by statement`, SUITES.node.pinned));
  });
});
