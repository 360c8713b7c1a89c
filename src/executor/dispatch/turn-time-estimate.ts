/** Turns that must have been seen before a tool's calls may go together. */
const KNOWN_TURNS = 8;
/** Calls that take longer go alone, in milliseconds: nobody shall wait behind them. */
const QUICK_MS = 0.2;
/** Calls that take longer may not have all workers, in milliseconds. */
const SLOW_MS = 25;
/** What calls that go together may take, in milliseconds, and how many they may be. */
const TOGETHER_MS = 1;
const TOGETHER_MAX = 128;
/** One long turn counts at once, and is forgotten slowly: a tool that is slow now and then is not quick. */
const RISE = 0.5;
const FALL = 0.2;

/** How long the turns of a tool's calls take. */
export class TurnTimeEstimate {
  #turns = 0;
  #averageMs = 0;

  /** Takes in a turn that started so many calls. */
  note(calls: number, turnMs: number): void {
    const callMs = turnMs / Math.max(1, calls);
    const weight = this.#turns === 0 ? 1 : callMs > this.#averageMs ? RISE : FALL;
    this.#averageMs += (callMs - this.#averageMs) * weight;
    this.#turns++;
  }

  /** Forgets everything: a turn was cut, so the calls are not what they seemed. */
  forget(): void {
    this.#turns = 0;
    this.#averageMs = 0;
  }

  /** Nobody knows yet: it may take a microsecond or all of its budget. */
  get isUnknown(): boolean {
    return this.#turns === 0;
  }

  get isSlow(): boolean {
    return this.#averageMs >= SLOW_MS;
  }

  /** Slow, or not known to be anything else: then nothing is put behind it. */
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
