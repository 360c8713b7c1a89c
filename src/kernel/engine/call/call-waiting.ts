import type { ToolResult } from "../../base/result.ts";
import type { CallKeep } from "../../broker/brokered-call.ts";
import type { CallIdle } from "../../executor/executor.ts";

/** The waits of a call. Once it is stored, so is what it asks and hears while it runs. */
export interface CallWaiting extends CallKeep {
  readonly id: string;
  /** Number of its run. */
  readonly leg: number;
  /** Whether the store has it, or is being given it, and whether this run ends as it waits. */
  readonly isStored: boolean;
  readonly isStoring: boolean;
  readonly isPaused: boolean;
  /**
   * Before an effect of a call that it has made and that is not stored: rejects with a `CallFailure` where another process
   * goes on with it, as this one has stopped for a while.
   */
  confirm(): Promise<void>;
  /** Its run has nothing left to do for now. */
  onIdle(idle: CallIdle): void;
  /** The result of the run, with the details of what it has ended with, and with what a person has edited. */
  explain(result: ToolResult): ToolResult;
  /** The run has ended: nothing waits any more. */
  release(): void;
}

/** An earlier run of a call, which this one repeats. */
export interface EarlierRun {
  readonly startMs: number;
  readonly seed: string;
  /** JSON of its journal and of its `ReplayPlan`. */
  readonly journal: string;
  readonly plan: string;
}

interface WaitingCall {
  readonly waits: CallWaiting | null;
  readonly parent: WaitingCall | null;
}

/** Where effects of a call are announced: in its own record, or else at the nearest call above it that has one. */
export function keepOf({ waits, parent }: WaitingCall): CallKeep | undefined {
  if (waits?.isStored === true) return waits;
  for (let above = parent; above !== null; above = above.parent) {
    const { waits: kept } = above;
    if (kept?.isStored === true) return { begin: () => kept.confirm() };
  }
  return undefined;
}
