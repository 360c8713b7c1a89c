import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { byReason, expectOutcome, type Outcome } from "../outcome.ts";
import { suiteFolder, SUITES } from "../suites.ts";
import { BareContexts } from "./bare-context.ts";
import { casesIn, Harness } from "./cases.ts";
import { Explainer } from "./explanation.ts";
import { DIFFERENCES } from "./known-differences.ts";
import { type Level, LEVELS, registerEvaluators } from "./level.ts";
import { type Finding, SuiteRun } from "./run-suite.ts";

const { folder, isWhole } = suiteFolder("test262");

/** One test of so many is run: `GLOVEBOX_TEST262_SHARE=1` runs all, in about half an hour. */
const USUAL_SHARE = 20;
const share = Number(process.env["GLOVEBOX_TEST262_SHARE"] ?? USUAL_SHARE);

const SUITE_MS = 3 * 60 * 60_000;

type Kinds = readonly [context: Finding["kind"], instance: Finding["kind"]];

const PASSED: Kinds = ["passed", "passed"];
const FROZEN: Kinds = ["passed", "refused"];
const MISSING: Kinds = ["refused", "refused"];
const NOT_OURS: Kinds = ["notApplicable", "notApplicable"];

/** The findings of the tests in `fixtures/suites/test262`, which show what the runner does. */
const SAMPLE: Readonly<Record<string, Kinds>> = {
  "annexB/built-ins/RegExp/last-match.js": MISSING,
  "annexB/language/comments/html-raw.js": PASSED,
  "built-ins/Array/from/iterable.js": PASSED,
  "built-ins/Array/prototype/inherited.js": FROZEN,
  "built-ins/Array/prototype/map/property.js": FROZEN,
  "built-ins/ArrayBuffer/detached.js": PASSED,
  "built-ins/ArrayBuffer/resizable.js": MISSING,
  "built-ins/Error/prototype/message.js": FROZEN,
  "built-ins/Promise/all/order.js": PASSED,
  "built-ins/Promise/reject/wrong.js": NOT_OURS,
  "built-ins/SharedArrayBuffer/length.js": MISSING,
  "built-ins/WeakRef/deref.js": MISSING,
  "built-ins/global/own.js": FROZEN,
  "built-ins/global/realm.js": NOT_OURS,
  "language/expressions/addition/strings.js": PASSED,
  "language/function-code/this-sloppy.js": PASSED,
  "language/function-code/this-strict.js": PASSED,
  "language/global-code/variable.js": NOT_OURS,
  "language/module-code/export.js": NOT_OURS,
  "language/statements/assignment/unresolvable.js": PASSED,
  "language/statements/let/redeclared.js": PASSED,
  "language/statements/let/wrong.js": NOT_OURS,
};

let run: SuiteRun;
let explainer: Explainer;
let cleanup: AsyncDisposableStack;

beforeAll(async () => {
  cleanup = new AsyncDisposableStack();
  const engine: Engine = await createEngine({ executor: "threads", workers: 1 });
  cleanup.defer(() => engine.close({ drainMs: 0 }));
  await registerEvaluators(engine);
  explainer = await Explainer.over(cleanup.use(new BareContexts()));
  run = new SuiteRun(engine, new Harness(folder), explainer);
});
afterAll(() => cleanup.disposeAsync());

describe.each(LEVELS)("test262 at isolation level %s", (level) => {
  test("passes but for what is not there, frozen, or known", { timeout: SUITE_MS }, async () => {
    const findings = await run.findings(level, casesIn(folder, isWhole ? share : 1));
    const known = DIFFERENCES.filter(({ levels }) => levels.includes(level));
    const unexplained = [...findings].flatMap(([name, found]) =>
      found.kind === "unexplained" ? [[name, found.reason]] : [],
    );
    expect({
      unknown: unexplained.filter(([name]) => !known.some((difference) => difference.name === name)),
      passing: known.filter(({ name }) => findings.has(name) && !unexplained.some(([failing]) => failing === name)),
    }).toEqual({ unknown: [], passing: [] });
    if (isWhole && share === USUAL_SHARE) await expectOutcome(`test262-${level}`, outcomeOf(level, findings));
    if (!isWhole) expect(new Map([...findings].map(([name, { kind }]) => [name, kind]))).toEqual(sampleAt(level));
  });
});

test("a failure in other words than those of each experiment is explained by none", () => {
  const program = { harness: "", source: "new SharedArrayBuffer(1);", isAsync: false, negative: null };
  const failure = "ReferenceError: SharedArrayBuffer is not defined";
  expect(explainer.explain("instance", "sloppy", program, failure).kind).toBe("refused");
  expect(explainer.explain("instance", "sloppy", program, "TypeError: it is small").kind).toBe("unexplained");
});

function sampleAt(level: Level): ReadonlyMap<string, Finding["kind"]> {
  return new Map(Object.entries(SAMPLE).map(([name, kinds]) => [name, kinds[LEVELS.indexOf(level)] ?? "unexplained"]));
}

function outcomeOf(level: Level, findings: ReadonlyMap<string, Finding>): Outcome {
  const known = DIFFERENCES.filter(({ name, levels }) => levels.includes(level) && findings.has(name));
  const listed = (kind: "refused" | "open") => known.filter((each) => each.kind === kind);
  const named = (differences: typeof known) => differences.map(({ name, reason }) => [name, reason] as const);
  const explained = (kind: "refused" | "notApplicable") =>
    [...findings].flatMap(([name, found]) => (found.kind === kind ? [[name, found.reason] as const] : []));
  return {
    suite: `ECMAScript, a sample of test262, at isolation level ${level}`,
    version: SUITES.test262.pinned,
    passed: [...findings.values()].filter(({ kind }) => kind === "passed").length,
    notApplicable: byReason(explained("notApplicable")),
    refused: byReason([...explained("refused"), ...named(listed("refused"))]),
    open: byReason(named(listed("open"))),
  };
}
