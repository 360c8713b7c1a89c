const LOOK_EVERY_MS = 1;
/** Shorter than any bound: how slow the machine is does not matter. */
const SHORT_MS = 50;
/** A piece of work, and its processor time on the machine on which bounds were set, in milliseconds. */
const WORK = JSON.stringify(Array.from({ length: 10_000 }, (_, at) => ({ id: at, name: `name ${at}`, list: [at] })));
const WORK_ROUNDS = 8;
const WORK_MS = 20;

/**
 * The longest turn of this thread's event loop during some work, in milliseconds of the thread's own processor time
 * on the machine on which bounds were set: what other threads and other programs do meanwhile does not count.
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
    this.longestMs = usualMs(this.longestMs);
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

/**
 * Processor time as the machine on which bounds were set would have taken it: some take four times as long for the same
 * work, as their processors serve others, too.
 */
export function usualMs(ms: number): number {
  return ms < SHORT_MS ? ms : ms / Math.max(1, workMs() / WORK_MS);
}

function workMs(): number {
  const startMs = threadMs();
  for (let round = 0; round < WORK_ROUNDS; round++) JSON.stringify(JSON.parse(WORK));
  return threadMs() - startMs;
}

/** Processor time of this thread so far, in milliseconds. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
