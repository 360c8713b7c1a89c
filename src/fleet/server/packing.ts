import { dueOf, type Turn } from "../gate/turn.ts";
import type { TurnTimeEstimate } from "../../executor/dispatch/turn-time-estimate.ts";
import type { FleetCall } from "./fleet-call.ts";

/** Calls that are known to be short share a job, and so what Redis has to do for it. */
const TOGETHER_MAX = 128;
/** What they may take together, in milliseconds: they are all on one machine. */
const TOGETHER_MS = 8;
/** A call that takes longer is a job of its own. */
const SHORT_MS = 2;
/** Arguments of all calls of a job, in characters. */
const LENGTH_MAX = 256 * 1024;

/** A call, its place in the fleet's order, and how long its tool's calls take. */
export interface Placed {
  readonly call: FleetCall;
  readonly turn: Turn;
  /** BullMQ's: lower first. */
  readonly priority: number;
  readonly pace: TurnTimeEstimate;
}

/** A call's share of a job, for the fleet's order. */
export function costOf(pace: TurnTimeEstimate): number {
  if (pace.isUnknown || pace.expectMs(1) > SHORT_MS) return 1;
  return Math.max(1 / TOGETHER_MAX, pace.expectMs(1) / TOGETHER_MS);
}

/** Which calls go together, in their order. */
export function packJobs(placed: readonly Placed[]): readonly (readonly Placed[])[] {
  const jobs: Placed[][] = [];
  let open: Placed[] = [];
  let [length, expectedMs] = [0, 0];
  for (const each of placed.toSorted((a, b) => dueOf(a.turn) - dueOf(b.turn))) {
    if (costOf(each.pace) >= 1 || each.call.isInspection) {
      jobs.push([each]);
      continue;
    }
    length += each.call.job.args.length;
    expectedMs += each.pace.expectMs(1);
    if (open.length > 0 && (open.length >= TOGETHER_MAX || length > LENGTH_MAX || expectedMs > TOGETHER_MS)) {
      jobs.push(open);
      open = [];
      [length, expectedMs] = [each.call.job.args.length, each.pace.expectMs(1)];
    }
    open.push(each);
  }
  if (open.length > 0) jobs.push(open);
  return jobs;
}
