import type { ReplayPlan } from "../../base/protocol/messages.ts";

const NOTHING: ReplayPlan = { asked: 0, responses: [], late: [], together: [] };

/**
 * The order of responses and timers of a call that runs again: the same as in its first run. A response that came
 * before a timer then may still be in transit now, and the timer must not overtake it.
 */
export class ReplaySchedule {
  readonly #plan: ReplayPlan;
  readonly #late: ReadonlyMap<number, number>;
  /** Number of responses that share a turn, by the index of the first. */
  readonly #together: ReadonlyMap<number, number>;
  /** Number of capability calls that the call has made, of responses delivered to it, and of its timer turns. */
  asked = 0;
  deliveredCount = 0;
  #fired = 0;

  /** `plan`: a `ReplayPlan` as JSON; empty for a call that runs for the first time. */
  constructor(plan: string) {
    this.#plan = plan === "" ? NOTHING : (JSON.parse(plan) as ReplayPlan);
    this.#late = new Map(this.#plan.late);
    this.#together = new Map(this.#plan.together);
  }

  /** Whether all planned responses have been delivered. */
  get isOver(): boolean {
    return this.deliveredCount >= this.#plan.responses.length;
  }

  /**
   * Whether a response precedes a timer with this due time. A response to a capability call that is yet to be made does
   * not: the call may need the timer first.
   */
  holds(dueMs: number): boolean {
    const next = this.#plan.responses[this.deliveredCount];
    if (next === undefined) return false;
    const [asked, nowMs] = next;
    return asked <= this.asked && nowMs < dueMs;
  }

  /** Number of responses that the next turn with a response has by the plan; 0 once all planned ones are delivered. */
  get plannedCount(): number {
    return this.isOver ? 0 : (this.#together.get(this.deliveredCount) ?? 1);
  }

  /** Records responses delivered in one turn; returns whether they were planned. */
  deliver(count: number): boolean {
    const wasPlanned = !this.isOver;
    this.deliveredCount += count;
    return wasPlanned;
  }

  /**
   * Counts a timer turn. Returns the time at which it is planned to begin, if that is not the timer's due time, and
   * whether another time is possible: the call has repeated its whole first run.
   */
  fire(): { readonly fired: number; readonly plannedMs: number | undefined; readonly isFree: boolean } {
    const fired = ++this.#fired;
    const isFree = this.#plan.asked !== null && this.isOver && this.asked >= this.#plan.asked;
    return { fired, plannedMs: this.#late.get(fired), isFree };
  }
}
