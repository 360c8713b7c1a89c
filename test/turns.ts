const LOOK_EVERY_MS = 1;

/**
 * The longest turn of this thread's event loop during some work, in milliseconds of the thread's own processor time:
 * what other threads and other programs do meanwhile does not count.
 */
export async function longestTurnDuring(work: () => Promise<unknown>): Promise<number> {
  using meter = new TurnMeter();
  await work();
  meter.stop();
  return meter.longestMs;
}

/** Measures turns from when it is made until it is stopped. */
export class TurnMeter implements Disposable {
  longestMs = 0;
  #lastMs = threadMs();
  readonly #timer = setInterval(() => this.#look(), LOOK_EVERY_MS);

  stop(): void {
    this.#look();
    clearInterval(this.#timer);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const nowMs = threadMs();
    this.longestMs = Math.max(this.longestMs, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }
}

/** Processor time of this thread so far, in milliseconds. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
