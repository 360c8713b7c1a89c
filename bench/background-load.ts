import { setTimeout as delay } from "node:timers/promises";

type Call = (nth: number) => Promise<void>;

/** Whoever cannot keep up with a schedule skips what exceeds this, so that stopping it takes no longer than this much. */
const OPEN_MAX = 32;

/** Calls that go on beside what is measured. */
export class BackgroundLoad implements AsyncDisposable {
  readonly #call: Call;
  readonly #startMs = performance.now();
  #running: Promise<unknown> = Promise.resolve();
  #isStopped = false;
  #sent = 0;
  #answered = 0;

  private constructor(call: Call) {
    this.#call = call;
  }

  /** So many callers, each of which waits for its answer and calls again. */
  static closed(callers: number, call: Call): BackgroundLoad {
    const load = new BackgroundLoad(call);
    return load.#run(Promise.all(Array.from({ length: callers }, () => load.#callAgainAndAgain())));
  }

  /** A call at fixed times. A timer is fine enough for them, and leaves the processor to the others. */
  static every(intervalMs: number, call: Call): BackgroundLoad {
    const load = new BackgroundLoad(call);
    return load.#run(load.#callEvery(intervalMs));
  }

  /** Ends it and answers how many calls were answered per second. Rejects where one failed. */
  async stop(): Promise<number> {
    this.#isStopped = true;
    await this.#running;
    return (this.#answered / (performance.now() - this.#startMs)) * 1e3;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    await this.#running.catch(() => {});
  }

  #run(running: Promise<unknown>): this {
    this.#running = running;
    // Whoever stops it hears of a failure; until then it must not count as one that nobody handles.
    running.catch(() => {});
    return this;
  }

  async #callAgainAndAgain(): Promise<void> {
    while (!this.#isStopped) await this.#callOnce();
  }

  async #callEvery(intervalMs: number): Promise<void> {
    const open = new Set<Promise<void>>();
    const failures: unknown[] = [];
    for (let tick = 0; !this.#isStopped && failures.length === 0; tick++) {
      if (open.size < OPEN_MAX) {
        const each: Promise<void> = this.#callOnce().then(
          () => void open.delete(each),
          (error: unknown) => void failures.push(error),
        );
        open.add(each);
      }
      await delay(Math.max(0, this.#startMs + (tick + 1) * intervalMs - performance.now()));
    }
    await Promise.all(open);
    if (failures.length > 0) throw failures[0];
  }

  async #callOnce(): Promise<void> {
    await this.#call(this.#sent++);
    this.#answered++;
  }
}
