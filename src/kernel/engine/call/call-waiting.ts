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
