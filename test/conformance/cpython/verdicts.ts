/** What came of a test, as `collect.py` tells it. */
export interface Verdict {
  readonly status: "ok" | "skipped" | "failed" | "error";
  /** The end of its traceback, or why it was skipped. */
  readonly detail: string;
}

/** Verdicts by the names of tests. A test that ended its interpreter, or ran out of time, has none. */
export type Verdicts = ReadonlyMap<string, Verdict>;

/** One run of a module without some of its tests. */
export interface Run {
  /** `null` where the interpreter, or its time, ended before the tests. */
  readonly verdicts: Verdicts | null;
  /** The test that began last; `null` if none did. */
  readonly last: string | null;
  /** Why there are no verdicts. */
  readonly reason: string;
}

/** Tests of one module that may end their interpreter. */
const ENDS_MAX = 6;

/** Runs a module until it ends, each time without the test at which the run before had ended. */
export async function verdictsOf(run: (without: readonly string[]) => Promise<Run>): Promise<Verdicts> {
  const without: string[] = [];
  for (;;) {
    const { verdicts, last, reason } = await run(without);
    if (verdicts !== null) return verdicts;
    if (last === null || without.length === ENDS_MAX) throw new Error(`after ${last ?? "nothing"}: ${reason}`);
    without.push(last);
  }
}
