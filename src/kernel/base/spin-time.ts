/** Time between two looks after which the thread was not running, in milliseconds: others need its processor. */
const PREEMPTED_MS = 1;
/** Time from the last look to a message, in milliseconds, in which its sender seems to have waited for this thread's processor. */
const WAITED_MS = 0.5;
/** Maximum time for which the thread then sleeps at once, in milliseconds. */
const REST_MAX_MS = 100;
/** The first such time where only a sender waited: once may be chance. It doubles with each further time. */
const REST_MIN_MS = 1;

/**
 * For how long a thread that waits for a message looks for it before it sleeps. Where others need the processor, looking would
 * only keep them from it, and they may be those who have to send the message: then it sleeps at once for a while.
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

  /** A message may come soon: the time begins anew. */
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
