import type { PlannedResponse } from "../../base/protocol/messages.ts";

/**
 * In which order a call that is run again hears its answers and fires its timers: as in its first run. There they came
 * in their own time; now an answer is still on its way where it once came first, and a timer must not overtake it.
 */
export class ReplaySchedule {
  readonly #answers: readonly PlannedResponse[];
  /** How many steps the call has asked, and how many answers it has heard. */
  asked = 0;
  heard = 0;

  constructor(answers: readonly PlannedResponse[]) {
    this.#answers = answers;
  }

  /** Whether no more answers are known. */
  get isOver(): boolean {
    return this.heard >= this.#answers.length;
  }

  /** Whether an answer comes before a timer that is due then. One that waits for a further ask may need the timer. */
  holds(dueMs: number): boolean {
    const next = this.#answers[this.heard];
    if (next === undefined) return false;
    const [asked, nowMs] = next;
    return asked <= this.asked && nowMs < dueMs;
  }

  /** An answer reaches the call; says whether it was a planned one. */
  hear(): boolean {
    return this.heard++ < this.#answers.length;
  }
}
