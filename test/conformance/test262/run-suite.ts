import type { Engine } from "../../../src/glovebox/index.ts";
import { type Case, type Harness, inapplicable, modesOf } from "./cases.ts";
import type { Explainer, Explanation } from "./explanation.ts";
import { type Level, runAt } from "./level.ts";

/** What became of a test at a level. */
export type Finding = { readonly kind: "passed" } | Explanation;

/** Kinds of findings, the one that counts most first: a test in two modes has one finding. */
const KINDS: readonly Finding["kind"][] = ["unexplained", "refused", "notApplicable", "passed"];

const PASSED: Finding = { kind: "passed" };

/** Runs tests at an isolation level, each in all its modes. */
export class SuiteRun {
  readonly #engine: Engine;
  readonly #harness: Harness;
  readonly #explainer: Explainer;

  constructor(engine: Engine, harness: Harness, explainer: Explainer) {
    this.#engine = engine;
    this.#harness = harness;
    this.#explainer = explainer;
  }

  async findings(level: Level, cases: readonly Case[]): Promise<ReadonlyMap<string, Finding>> {
    const found = new Map<string, Finding>();
    for (const one of cases) found.set(one.name, await this.#findingOf(level, one));
    return found;
  }

  async #findingOf(level: Level, one: Case): Promise<Finding> {
    const reason = inapplicable(one);
    if (reason !== null) return { kind: "notApplicable", reason };
    const findings: Finding[] = [];
    for (const mode of modesOf(one)) {
      const program = this.#harness.program(one, mode);
      const failure = await runAt(this.#engine, level, mode, program);
      findings.push(failure === "" ? PASSED : this.#explainer.explain(level, mode, program, failure));
    }
    return findings.toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))[0] ?? PASSED;
  }
}
