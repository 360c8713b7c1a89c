import type { BareContexts } from "./bare-context.ts";
import type { Mode, Program } from "./cases.ts";
import { type Change, FREEZING, hardening, REMOVALS } from "./changes.ts";
import type { Entry } from "./evaluator.ts";
import { ENTRIES, type Level } from "./level.ts";

/** Why a test does not pass. Only what is `unexplained` has to stand in the list of known differences. */
export interface Explanation {
  readonly kind: "notApplicable" | "refused" | "unexplained";
  readonly reason: string;
}

const NOT_PASSED_BY_V8 = "a bare context of isolated-vm does not pass it either";
const GLOBAL_CODE =
  "it tests scripts, whose variables and `this` are the global's; a tool's code is that of a function";
const OWN_GLOBAL = "the `globalThis` of a call is an object of its own that inherits from the realm's frozen one";

/**
 * Explains why a test does not pass, by experiment: whatever is said to be the reason is done to a bare context of
 * isolated-vm, which has nothing else of Glovebox. It explains the test if there it fails with the very same words.
 */
export class Explainer {
  readonly #bare: BareContexts;
  readonly #changes: Readonly<Record<Level, readonly Change[]>>;

  private constructor(bare: BareContexts, changes: Readonly<Record<Level, readonly Change[]>>) {
    this.#bare = bare;
    this.#changes = changes;
  }

  static async over(bare: BareContexts): Promise<Explainer> {
    return new Explainer(bare, { context: REMOVALS, instance: [...REMOVALS, FREEZING, await hardening()] });
  }

  /** `failure`: what is wrong with the program at that level. */
  explain(level: Level, mode: Mode, program: Program, failure: string): Explanation {
    if (this.#bare.runScript(program) !== "") return { kind: "notApplicable", reason: NOT_PASSED_BY_V8 };
    const entry = ENTRIES[level][mode];
    return this.#byEntry(program, entry) ?? this.#byChange(level, entry, program, failure);
  }

  /** A test that does not pass in a bare context either, if it is entered as in a tool. */
  #byEntry(program: Program, entry: Entry): Explanation | null {
    if (this.#bare.run(program, entry, { isHeir: false }) !== "") return { kind: "notApplicable", reason: GLOBAL_CODE };
    if (entry === "eval" || this.#bare.run(program, entry) === "") return null;
    return { kind: "refused", reason: OWN_GLOBAL };
  }

  #byChange(level: Level, entry: Entry, program: Program, failure: string): Explanation {
    for (const { text, reason } of this.#changes[level]) {
      if (this.#bare.run(program, entry, { change: text }) === failure) return { kind: "refused", reason };
    }
    return { kind: "unexplained", reason: failure };
  }
}
