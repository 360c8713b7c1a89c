/** How fast older observations lose weight. Calls often end in bursts, so it is longer than most calls run. */
const MEMORY_MS = 5_000;
const MIN_RETRY_MS = 10;
const MAX_RETRY_MS = 60_000;
const UNKNOWN_RETRY_MS = 1_000;

/** Completions per second, smoothed, and the retry advice that follows from them. */
export class DrainRate {
  #perSecond: number | undefined = undefined;
  #completed = 0;
  #atMs = 0;

  /** Begins a busy time. The time before it counts for nothing, because nobody was waiting then. */
  begin(completed: number, nowMs: number): void {
    this.#completed = completed;
    this.#atMs = nowMs;
  }

  /** Takes note of how many calls have completed in all. */
  observe(completed: number, nowMs: number): void {
    const elapsedMs = nowMs - this.#atMs;
    const ended = completed - this.#completed;
    if (elapsedMs <= 0) return;
    // Until a first call has ended nothing is known, and the time until then belongs to the first observation.
    if (this.#perSecond === undefined && ended === 0) return;
    const perSecond = (ended / elapsedMs) * 1_000;
    this.#perSecond ??= perSecond;
    this.#perSecond += (1 - Math.exp(-elapsedMs / MEMORY_MS)) * (perSecond - this.#perSecond);
    this.#completed = completed;
    this.#atMs = nowMs;
  }

  /** How long it takes to work off `queued` calls at this rate, within sane bounds. */
  retryAfterMs(queued: number): number {
    if (this.#perSecond === undefined) return UNKNOWN_RETRY_MS;
    const drainMs = queued === 0 ? 0 : Math.ceil((queued / this.#perSecond) * 1_000);
    return Math.min(MAX_RETRY_MS, Math.max(MIN_RETRY_MS, drainMs));
  }
}
