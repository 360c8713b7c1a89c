import { byReason, type Outcome } from "./outcome.ts";

/** Cases that pass in Node and not in a tool, and why. */
export interface Difference {
  /** A pattern of programs. */
  readonly program: RegExp;
  /** A pattern of their cases: all of these differ. */
  readonly subtest: RegExp;
  /** A pattern of failures, where the cases of a difference have no other common mark. */
  readonly failure?: RegExp;
  readonly kind: "notApplicable" | "refused" | "open";
  readonly reason: string;
}

/** The cases of a suite that pass in Node, as they end in a tool. */
export class Tally {
  readonly #differences: readonly Difference[];
  readonly #differing: (readonly [name: string, known: Difference])[] = [];
  /** Cases that fail, and are not known to differ. */
  readonly unknown: string[] = [];
  /** Cases that pass, although they are known to differ. */
  readonly passing: string[] = [];
  passed = 0;

  constructor(differences: readonly Difference[]) {
    this.#differences = differences;
  }

  /** Takes a case. `failure`: why it does not pass, or `null`. */
  add(program: string, subtest: string, failure: string | null): void {
    const name = `${program}: ${subtest}`;
    const known = this.#differences.find((one) => {
      if (!one.program.test(program) || !one.subtest.test(subtest)) return false;
      return one.failure === undefined || (failure !== null && one.failure.test(failure));
    });
    if (failure === null) this.passed += 1;
    if (failure === null && known !== undefined) this.passing.push(name);
    if (failure !== null && known === undefined) this.unknown.push(`${name}: ${failure}`);
    if (failure !== null && known !== undefined) this.#differing.push([name, known]);
  }

  /** The share that passes of the cases that are for tools. */
  get share(): number {
    const missed = this.#differing.filter(([, { kind }]) => kind !== "notApplicable").length;
    return this.passed / (this.passed + missed + this.unknown.length);
  }

  /** Differences that no case has shown. */
  get unused(): readonly Difference[] {
    const found = new Set(this.#differing.map(([, known]) => known));
    return this.#differences.filter((known) => !found.has(known));
  }

  outcome(suite: string, version: string): Outcome {
    const reasons = (wanted: Difference["kind"]) =>
      byReason(
        this.#differing.flatMap(([name, { kind, reason }]) => (kind === wanted ? [[name, reason] as const] : [])),
      );
    return {
      suite,
      version,
      passed: this.passed,
      notApplicable: reasons("notApplicable"),
      refused: reasons("refused"),
      open: reasons("open"),
    };
  }
}
