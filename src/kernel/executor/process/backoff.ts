/** Number of processes that may be lost within the window before the next start is delayed. */
const FREE = 10;
const WINDOW_MS = 10_000;
const FIRST_MS = 50;
/** Longest delay, in milliseconds, after losses of working processes, and after failed starts. */
const LOST_MAX_MS = 1_000;
const FAILED_MAX_MS = 10_000;

/**
 * Delay before the next process is started. An occasional loss is replaced at once; in a series of losses the delay
 * doubles, so that starting processes does not take CPU from running calls.
 */
export class Backoff {
  readonly #nowMs: () => number;
  #lostMs: number[] = [];
  #failures = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Records a started process. */
  started(): void {
    this.#failures = 0;
  }

  /** Records the end of a process; returns the delay before the next start, in milliseconds. */
  lost(hadStarted: boolean): number {
    const nowMs = this.#nowMs();
    this.#lostMs = [...this.#lostMs.filter((at) => at > nowMs - WINDOW_MS), nowMs].slice(-FREE - 16);
    if (!hadStarted) return Math.min(FAILED_MAX_MS, FIRST_MS * 2 ** this.#failures++);
    const beyond = this.#lostMs.length - FREE;
    return beyond <= 0 ? 0 : Math.min(LOST_MAX_MS, FIRST_MS * 2 ** (beyond - 1));
  }
}
