/**
 * A call's clock stops within a turn, and goes to a timer's due time when the timer fires, even if that is late: so a
 * further run of the call sees the same times. Long turns would leave it behind more and more, so it follows real time
 * if it is further behind than this, in milliseconds.
 */
const BEHIND_MAX_MS = 100;

/** Real time by the clock of a call, which the host began. */
export class CallClock {
  /** The call's time less that of `performance.now()`. */
  #offsetMs: number;

  /** At `realMs` of `performance.now()` it was `nowMs`. */
  constructor(nowMs: number, realMs: number) {
    this.#offsetMs = nowMs - realMs;
  }

  /** Takes a time from the host, whose clock may be ahead of this one. */
  hear(nowMs: number): void {
    this.#offsetMs = Math.max(this.#offsetMs, nowMs - performance.now());
  }

  /** The time at which a timer fires that was due at `dueMs`. */
  timeOf(dueMs: number): number {
    const realMs = Math.floor(this.#offsetMs + performance.now());
    return realMs - dueMs > BEHIND_MAX_MS ? realMs : dueMs;
  }
}
