import type { SpinTime } from "./spin-time.ts";

/**
 * Keeps this thread's event loop from sleeping for a while: waking a sleeping thread takes longer than a short call.
 * Messages that arrive meanwhile are read at once; the whole time is processor time.
 */
export class EventLoopSpin {
  readonly #time: SpinTime;
  #isOn = false;

  constructor(time: SpinTime) {
    this.#time = time;
  }

  /** Restarts the time, as a message may arrive soon. */
  extend(): void {
    this.#time.extend();
    if (this.#isOn || !this.#time.lookAgain()) return;
    this.#isOn = true;
    setImmediate(this.#turn);
  }

  /** Whether the loop does not sleep. */
  get isOn(): boolean {
    return this.#isOn;
  }

  readonly #turn = (): void => {
    this.#isOn = this.#time.lookAgain();
    if (this.#isOn) setImmediate(this.#turn);
  };
}
