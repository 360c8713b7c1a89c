/** Time constant of the smoothing. Calls often end in bursts, so it is longer than most calls run. */
const MEMORY_MS = 5_000;
const MIN_RETRY_MS = 10;
const MAX_RETRY_MS = 60_000;
const UNKNOWN_RETRY_MS = 1_000;

/** Smoothed number of completions per second, and retry advice derived from it. */
export class DrainRate {
  #perSecond: number | undefined = undefined;
  #completed = 0;
  #atMs = 0;

  /** Begins a busy period. The time before it does not count, because no call was waiting. */
  begin(completed: number, nowMs: number): void {
    this.#completed = completed;
    this.#atMs = nowMs;
  }

  /** Records the total number of completed calls. */
  observe(completed: number, nowMs: number): void {
    const elapsedMs = nowMs - this.#atMs;
    const ended = completed - this.#completed;
    if (elapsedMs <= 0) return;
    // Before the first completion the rate is unknown; the time until then belongs to the first observation.
    if (this.#perSecond === undefined && ended === 0) return;
    const perSecond = (ended / elapsedMs) * 1_000;
    this.#perSecond ??= perSecond;
    this.#perSecond += (1 - Math.exp(-elapsedMs / MEMORY_MS)) * (perSecond - this.#perSecond);
    this.#completed = completed;
    this.#atMs = nowMs;
  }

  /** Estimated time to drain `queued` calls at this rate, between `MIN_RETRY_MS` and `MAX_RETRY_MS`. */
  retryAfterMs(queued: number): number {
    if (this.#perSecond === undefined) return UNKNOWN_RETRY_MS;
    const drainMs = queued === 0 ? 0 : Math.ceil((queued / this.#perSecond) * 1_000);
    return Math.min(MAX_RETRY_MS, Math.max(MIN_RETRY_MS, drainMs));
  }
}
