/** Time between two looks after which the thread was not running, in milliseconds: others need its processor. */
const PREEMPTED_MS = 1;
/** Time from the last look to a message, in milliseconds, in which its sender seems to have waited for this thread's processor. */
const WAITED_MS = 0.5;
/** Maximum time for which the thread then sleeps at once, in milliseconds. */
const REST_MAX_MS = 100;
/** The first rest after a spin in which only a sender waited: one may be chance. It doubles each time. */
const REST_MIN_MS = 1;

/**
 * How long a thread that waits for a message polls for it before it sleeps. If other threads need the processor,
 * polling delays them, and the sender may be one of them: the thread then sleeps at once for a while.
 */
export class SpinTime {
  readonly #spinMs: number;
  readonly #nowMs: () => number;
  #untilMs = 0;
  #lookedMs = 0;
  #restMs = 0;
  #restsUntilMs = 0;
  /** When it gave up looking. */
  #gaveUpMs = -Infinity;

  constructor(spinMs: number, nowMs: () => number = () => performance.now()) {
    this.#spinMs = spinMs;
    this.#nowMs = nowMs;
  }

  /** Restarts the time, as a message may come soon. */
  extend(): void {
    if (this.#spinMs === 0) return;
    const nowMs = this.#nowMs();
    this.#lookedMs = nowMs;
    if (this.#untilMs > 0) this.#restMs /= 2;
    else if (nowMs - this.#gaveUpMs < WAITED_MS) {
      this.#restMs = Math.min(REST_MAX_MS, Math.max(REST_MIN_MS, 2 * this.#restMs));
      this.#restsUntilMs = nowMs + this.#restMs;
    }
    this.#gaveUpMs = -Infinity;
    this.#untilMs = nowMs < this.#restsUntilMs ? 0 : nowMs + this.#spinMs;
  }

  /** Whether the thread looks once more. */
  lookAgain(): boolean {
    if (this.#untilMs === 0) return false;
    const nowMs = this.#nowMs();
    if (nowMs - this.#lookedMs > PREEMPTED_MS) {
      this.#untilMs = 0;
      this.#restsUntilMs = nowMs + REST_MAX_MS;
    }
    this.#lookedMs = nowMs;
    if (this.#untilMs > 0 && nowMs >= this.#untilMs) {
      this.#untilMs = 0;
      this.#gaveUpMs = nowMs;
    }
    return this.#untilMs > 0;
  }
}
