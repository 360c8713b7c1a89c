/** Processes that may be lost within the window before the next one has to wait. */
const FREE = 10;
const WINDOW_MS = 10_000;
const FIRST_MS = 50;
/** The longest wait after processes that had been at work, and after processes that did not even start. */
const LOST_MAX_MS = 1_000;
const FAILED_MAX_MS = 10_000;

/**
 * How long to wait before the next process is started. One that is lost now and then is replaced at once; in a storm
 * of losses the wait doubles, so that starting processes does not take the machine from the calls that are served.
 */
export class Backoff {
  readonly #nowMs: () => number;
  #lostMs: number[] = [];
  #failures = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Notes a process that started. */
  started(): void {
    this.#failures = 0;
  }

  /** Notes the end of a process; answers how long to wait, in milliseconds. */
  lost(hadStarted: boolean): number {
    const nowMs = this.#nowMs();
    this.#lostMs = [...this.#lostMs.filter((at) => at > nowMs - WINDOW_MS), nowMs].slice(-FREE - 16);
    if (!hadStarted) return Math.min(FAILED_MAX_MS, FIRST_MS * 2 ** this.#failures++);
    const beyond = this.#lostMs.length - FREE;
    return beyond <= 0 ? 0 : Math.min(LOST_MAX_MS, FIRST_MS * 2 ** (beyond - 1));
  }
}
