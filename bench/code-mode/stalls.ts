/** Microseconds of processor time that this thread has used. */
export function usedUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

/**
 * Watches how long this thread's event loop stands still, by the thread's processor time: on a machine that does other work
 * too, elapsed time is that of others as well.
 */
export class StallWatch implements Disposable {
  #isOn = true;
  #lastUs = usedUs();
  #mostUs = 0;

  constructor() {
    this.#tick();
  }

  /** The longest turn of the loop since this was last asked, in milliseconds. */
  take(): number {
    this.#note();
    const mostMs = this.#mostUs / 1e3;
    this.#mostUs = 0;
    return mostMs;
  }

  #note(): void {
    const nowUs = usedUs();
    this.#mostUs = Math.max(this.#mostUs, nowUs - this.#lastUs);
    this.#lastUs = nowUs;
  }

  #tick(): void {
    this.#note();
    if (this.#isOn) setImmediate(() => this.#tick());
  }

  [Symbol.dispose](): void {
    this.#isOn = false;
  }
}
