/** Minimum number of recorded turns before a tool's calls are batched. */
const KNOWN_TURNS = 8;
/** Average turn above which calls run alone, in milliseconds, so that no others wait behind them. */
const QUICK_MS = 0.2;
/** Average turn above which calls may not occupy all workers, in milliseconds. */
const SLOW_MS = 25;
/** Maximum expected time of a batch in milliseconds, and its maximum number of calls. */
const TOGETHER_MS = 1;
const TOGETHER_MAX = 128;
/** Weights of a longer and of a shorter turn: an occasionally slow tool is not quick. */
const RISE = 0.5;
const FALL = 0.2;

/** Estimated duration of a tool's turns: a moving average. */
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

  /** Resets the estimate after a cut turn, which proves it wrong. */
  forget(): void {
    this.#turns = 0;
    this.#averageMs = 0;
  }

  /** Whether no turn has been recorded: it may take a microsecond or its whole budget. */
  get isUnknown(): boolean {
    return this.#turns === 0;
  }

  get isSlow(): boolean {
    return this.#averageMs >= SLOW_MS;
  }

  /** Slow or unknown: no work is queued behind it on a worker. */
  get isLong(): boolean {
    return this.isSlow || this.isUnknown;
  }

  /** Maximum number of calls in a batch. */
  get together(): number {
    if (this.#turns < KNOWN_TURNS || this.#averageMs >= QUICK_MS) return 1;
    return Math.max(1, Math.min(TOGETHER_MAX, Math.floor(TOGETHER_MS / this.#averageMs)));
  }

  expectMs(calls: number): number {
    return this.#averageMs * calls;
  }
}
