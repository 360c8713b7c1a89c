import type { ReplayPlan } from "../../base/protocol/messages.ts";

/**
 * The order of responses and timers of a call that runs again: the same as in its first run. Now a response may be in
 * transit that came first then, and a timer must not overtake it.
 */
export class ReplaySchedule {
  readonly #plan: ReplayPlan;
  /** Number of capability calls that the call has made, and of responses delivered to it. */
  asked = 0;
  deliveredCount = 0;

  constructor(plan: ReplayPlan) {
    this.#plan = plan;
  }

  /** Whether all planned responses have been delivered. */
  get isOver(): boolean {
    return this.deliveredCount >= this.#plan.length;
  }

  /**
   * Whether a response precedes a timer with this due time. A response to a capability call that is yet to be made does
   * not: the call may need the timer first.
   */
  holds(dueMs: number): boolean {
    const next = this.#plan[this.deliveredCount];
    if (next === undefined) return false;
    const [asked, nowMs] = next;
    return asked <= this.asked && nowMs < dueMs;
  }

  /** Records a delivered response; returns whether it was planned. */
  deliver(): boolean {
    return this.deliveredCount++ < this.#plan.length;
  }
}
