import PQueue from "p-queue";
import { StoreError } from "../../kernel/base/errors.ts";

/** Steps that are taken at once, each with its calls in memory, and that wait. */
const AT_ONCE = 8;
const WAITING_MAX = 10_000;

/** Steps of calls: those of one call in the order of their arrival, those of several at once. */
export class CallLanes {
  readonly #queue = new PQueue({ concurrency: AT_ONCE });
  /** The last step of each call that has some. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Rejects with a `StoreError` if too many wait. */
  async run<T>(id: string, work: () => Promise<T>): Promise<T> {
    if (this.#last.size >= WAITING_MAX) throw new StoreError("too many calls that wait are with the store");
    const before = this.#last.get(id);
    const done = before === undefined ? this.#queue.add(work) : before.then(() => this.#queue.add(work));
    const ended = done.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(id, ended);
    try {
      return await done;
    } finally {
      if (this.#last.get(id) === ended) this.#last.delete(id);
    }
  }
}
