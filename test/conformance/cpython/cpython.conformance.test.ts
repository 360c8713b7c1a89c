import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Engine } from "../../../src/glovebox/index.ts";
import { byReason, expectOutcome } from "../outcome.ts";
import { suiteFolder, SUITES } from "../suites.ts";
import { filesOf } from "./files.ts";
import { covers, KNOWN_DIFFERENCES, reasonOf } from "./known-differences.ts";
import { MODULES, SAMPLE } from "./modules.ts";
import { runPlain } from "./plain.ts";
import { createTestEngine, withTool } from "./tool.ts";
import { verdictsOf } from "./verdicts.ts";

/** Maximum time of one run of a module; its tests may need several. */
const WALL_MS = 120_000;
const TEST_MS = 10 * WALL_MS;

const { folder, isWhole } = suiteFolder("cpython");
const modules = isWhole ? MODULES : SAMPLE;

let engine: Engine;
let temporary: string;
let passed = 0;
/** Tests that pass in plain Pyodide, and not in a tool, with the reasons; of all modules. */
const lost = new Map<string, string>();
let ran = 0;

beforeAll(async () => {
  temporary = mkdtempSync(join(tmpdir(), "glovebox-plain-"));
  engine = await createTestEngine(WALL_MS);
}, TEST_MS);
afterAll(async () => {
  await engine.close({ drainMs: 0 });
  rmSync(temporary, { recursive: true });
});

describe("a module of CPython's tests passes in a tool as in plain Pyodide, but for the known differences", () => {
  test.each(modules)("%s", { timeout: TEST_MS }, async (module) => {
    const files = filesOf(folder, module);
    const job = { files, module, memory: join(temporary, "memory"), wallMs: WALL_MS };
    const [plain, tool] = await Promise.all([
      verdictsOf((without) => runPlain(job, without)),
      withTool(engine, `run_${module.replaceAll(".", "_")}`, files, (run) =>
        verdictsOf((without) => run(module, without)),
      ),
    ]);
    const expected = [...plain].filter(([, { status }]) => status === "ok").map(([name]) => name);
    expect(expected).not.toEqual([]);
    const fallen = expected.filter((name) => tool.get(name)?.status !== "ok");
    for (const name of fallen) lost.set(name, reasonOf(name) ?? "");
    ran += 1;
    passed += expected.length - fallen.length;
    const unknown = fallen.filter((name) => reasonOf(name) === null);
    expect(unknown.map((name) => [name, tool.get(name)?.detail ?? "it did not end"])).toEqual([]);
  });

  test("and each known difference is one", () => {
    // Modules may run one at a time, with a filter for names of tests.
    const names = ran === modules.length ? KNOWN_DIFFERENCES.map(([name]) => name) : [];
    const own = names.filter((name) => modules.some((module) => name === module || name.startsWith(`${module}.`)));
    expect(own.filter((name) => ![...lost.keys()].some((test) => covers(name, test)))).toEqual([]);
  });

  test.runIf(isWhole)("and the outcome is the one in the repository", async () => {
    expect(ran).toBe(modules.length);
    await expectOutcome("cpython", {
      suite: "CPython 3.14, modules of its test suite",
      version: SUITES.cpython.pinned,
      passed,
      notApplicable: [],
      refused: byReason(lost),
      open: [],
    });
  });
});
