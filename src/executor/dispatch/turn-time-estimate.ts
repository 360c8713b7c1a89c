/** Turns that must have been seen before a tool's calls may go together. */
const KNOWN_TURNS = 8;
/** Calls that take longer run alone, in milliseconds, so that no other waits behind them. */
const QUICK_MS = 0.2;
/** Calls that take longer may not have all workers, in milliseconds. */
const SLOW_MS = 25;
/** Time of a batch in milliseconds, and its number of calls, at most. */
const TOGETHER_MS = 1;
const TOGETHER_MAX = 128;
/** Weights of a longer and of a shorter turn: a tool that is slow now and then is not quick. */
const RISE = 0.5;
const FALL = 0.2;

/** How long the turns of a tool's calls take. */
export class TurnTimeEstimate {
  #turns = 0;
  #averageMs = 0;

  /** Records a turn that started this many calls. */
  record(calls: number, turnMs: number): void {
    const callMs = turnMs / Math.max(1, calls);
    const weight = this.#turns === 0 ? 1 : callMs > this.#averageMs ? RISE : FALL;
    this.#averageMs += (callMs - this.#averageMs) * weight;
    this.#turns++;
  }

  /** Starts anew after a cut turn, which proves the estimate wrong. */
  forget(): void {
    this.#turns = 0;
    this.#averageMs = 0;
  }

  /** Whether no turn has been recorded: one may take a microsecond or all of its budget. */
  get isUnknown(): boolean {
    return this.#turns === 0;
  }

  get isSlow(): boolean {
    return this.#averageMs >= SLOW_MS;
  }

  /** Slow or unknown: nothing is queued behind it on a worker. */
  get isLong(): boolean {
    return this.isSlow || this.isUnknown;
  }

  /** How many calls may go together. */
  get together(): number {
    if (this.#turns < KNOWN_TURNS || this.#averageMs >= QUICK_MS) return 1;
    return Math.max(1, Math.min(TOGETHER_MAX, Math.floor(TOGETHER_MS / this.#averageMs)));
  }

  expectMs(calls: number): number {
    return this.#averageMs * calls;
  }
}
