/**
 * Keeps this thread's event loop from sleeping for a while: a thread that sleeps takes longer to wake than a short call takes.
 * What arrives meanwhile is heard at once; the whole time is processor time.
 */
export class EventLoopSpin {
  readonly #spinMs: number;
  readonly #nowMs: () => number;
  #untilMs = 0;
  #isOn = false;

  constructor(spinMs: number, nowMs: () => number = () => performance.now()) {
    this.#spinMs = spinMs;
    this.#nowMs = nowMs;
  }

  /** Something may arrive soon: the time begins anew. */
  extend(): void {
    this.#untilMs = this.#nowMs() + this.#spinMs;
    if (this.#isOn || this.#spinMs === 0) return;
    this.#isOn = true;
    setImmediate(this.#turn);
  }

  /** Whether the loop does not sleep. */
  get isOn(): boolean {
    return this.#isOn;
  }

  readonly #turn = (): void => {
    this.#isOn = this.#nowMs() < this.#untilMs;
    if (this.#isOn) setImmediate(this.#turn);
  };
}
