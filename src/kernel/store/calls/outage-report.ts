import { OutageReport } from "../outage.ts";
import type { DropReason, StoreProblem } from "./thread/messages.ts";

/** The file of calls cannot be used: reported after a second, and then repeatedly while it lasts. */
export interface CallsDown {
  readonly reason: DropReason;
  /** The problem, without a path. */
  readonly problem: string;
  /** The file. For the operator, not for callers. */
  readonly path: string;
  readonly downMs: number;
}

export interface CallsUp {
  readonly path: string;
  /** Time for which it could not be used. */
  readonly downMs: number;
}

export interface OutageListener {
  readonly onDown: (event: CallsDown) => void;
  readonly onUp: (event: CallsUp) => void;
}

/** Reports outages of a file of calls. */
export function outageReport(path: string, listener: OutageListener): OutageReport<StoreProblem> {
  return new OutageReport({
    onDown: ({ reason, message }, downMs) => listener.onDown({ reason, problem: message, path, downMs }),
    onUp: (downMs) => listener.onUp({ path, downMs }),
  });
}
