import type { ToolScript } from "../../base/protocol/script.ts";

/** Whose code runs: what a worker may have a turn of belongs to a tool, and to the tenant that called it. */
export interface CallOwner {
  readonly script: ToolScript;
  /** Empty for calls without one, and `null` for an inspection. */
  readonly tenant: string | null;
}

/** Something that keeps a worker busy until its turn has ended. */
export interface WorkItem extends CallOwner {
  /** The numbers of what is in it: of calls, or of an inspection. */
  readonly runs: readonly number[];
  readonly size: number;
  /** How long its turn is expected to take, in milliseconds. */
  readonly expectedMs: number;
  /** Whether it is known to take long, or nothing is known of it: then nothing is put behind it. */
  readonly isLong: boolean;
  readonly isSlow: boolean;
}
