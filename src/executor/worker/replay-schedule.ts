import type { ReplayPlan } from "../../base/protocol/messages.ts";

/**
 * In which order a call that is run again gets its responses and fires its timers: as in its first run. There they came
 * in their own time; now a response is still on its way where it once came first, and a timer must not overtake it.
 */
export class ReplaySchedule {
  readonly #plan: ReplayPlan;
  /** How many capability calls the call has made, and how many responses it has got. */
  asked = 0;
  heard = 0;

  constructor(plan: ReplayPlan) {
    this.#plan = plan;
  }

  /** Whether no more responses are known. */
  get isOver(): boolean {
    return this.heard >= this.#plan.length;
  }

  /** Whether a response comes before a timer that is due then. One that waits for a further capability call may need the timer. */
  holds(dueMs: number): boolean {
    const next = this.#plan[this.heard];
    if (next === undefined) return false;
    const [asked, nowMs] = next;
    return asked <= this.asked && nowMs < dueMs;
  }

  /** A response reaches the call; says whether it was a planned one. */
  hear(): boolean {
    return this.heard++ < this.#plan.length;
  }
}
