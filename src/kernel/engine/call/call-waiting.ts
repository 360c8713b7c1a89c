import type { ToolResult } from "../../base/result.ts";
import type { CallKeep } from "../../broker/brokered-call.ts";
import type { CallIdle } from "../../executor/executor.ts";

/** The waits of a call. Once it is stored, so are its capability calls and responses as it runs. */
export interface CallWaiting extends CallKeep {
  readonly id: string;
  /** Number of its run. */
  readonly leg: number;
  /** Whether it is stored, or is being stored, and whether this run ends because it waits. */
  readonly isStored: boolean;
  readonly isStoring: boolean;
  readonly isPaused: boolean;
  /**
   * Called before an effect of a child call that is not stored: rejects with a `CallFailure` if another process has
   * continued this call, after this process had stopped for a while.
   */
  confirm(): Promise<void>;
  /** Called when its run only waits. */
  onIdle(idle: CallIdle): void;
  /** The result of the run, with the details of its failure, and with the edits of a person. */
  explain(result: ToolResult): ToolResult;
  /** Called when the run has ended: nothing waits any more. */
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

/** The record in which effects of a call are announced: its own, or that of its nearest ancestor with one. */
export function keepOf({ waits, parent }: WaitingCall): CallKeep | undefined {
  if (waits?.isStored === true) return waits;
  for (let above = parent; above !== null; above = above.parent) {
    const { waits: kept } = above;
    if (kept?.isStored === true) return { begin: () => kept.confirm() };
  }
  return undefined;
}
