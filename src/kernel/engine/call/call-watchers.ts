import { StoreError } from "../../base/errors.ts";
import { isMatch } from "../../store/calls/call-match.ts";
import { type CallCells, type CallQuery, type CallSummary, summaryOf } from "../../store/calls/call-record.ts";

/** Maximum calls that wait for a reader; the oldest are dropped for later ones. */
const WAITING_MAX = 1_000;
/** Maximum readers at once: all, and those of one holder, such as a key or a tenant. */
const WATCHERS_MAX = 64;
const HOLDER_MAX = 16;

/** Readers that get calls when these have ended. */
export class CallWatchers {
  readonly #watchers = new Set<CallWatcher>();
  readonly #onWatched: (isWatched: boolean) => void;

  /** `onWatched`: the first reader has come, or the last one has gone. */
  constructor(onWatched: (isWatched: boolean) => void) {
    this.#onWatched = onWatched;
  }

  tell(cells: CallCells): void {
    for (const watcher of this.#watchers) watcher.tell(cells);
  }

  /** Throws a `StoreError` if there are too many readers already, in all or of one of its holders. */
  watch(query: CallQuery, signal: AbortSignal | undefined, holders: readonly string[] = []): CallWatcher {
    if (this.#watchers.size >= WATCHERS_MAX) throw new StoreError(`${WATCHERS_MAX} readers watch calls already`);
    for (const holder of holders) {
      const held = this.#watchers.values().filter((one) => one.holders.includes(holder));
      if (held.toArray().length >= HOLDER_MAX)
        throw new StoreError(`${HOLDER_MAX} readers of the ${holder} watch calls already`);
    }
    const watcher = new CallWatcher(query, holders, () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) this.#onWatched(false);
      signal?.removeEventListener("abort", end);
    });
    const end = (): void => watcher.end();
    if (signal?.aborted === true) end();
    else if (this.#watchers.add(watcher).size === 1) this.#onWatched(true);
    signal?.addEventListener("abort", end, { once: true });
    return watcher;
  }

  end(): void {
    for (const watcher of this.#watchers) watcher.end();
  }
}

/** Ended calls that match a filter, for one reader. */
class CallWatcher implements AsyncIterableIterator<CallSummary, undefined> {
  readonly holders: readonly string[];
  readonly #query: CallQuery;
  readonly #onEnd: () => void;
  readonly #waiting: CallSummary[] = [];
  readonly #reading: ((result: IteratorResult<CallSummary, undefined>) => void)[] = [];
  #isEnded = false;

  constructor(query: CallQuery, holders: readonly string[], onEnd: () => void) {
    this.holders = holders;
    this.#query = query;
    this.#onEnd = onEnd;
  }

  tell(cells: CallCells): void {
    if (!isMatch(cells, this.#query)) return;
    const value = summaryOf(cells);
    const read = this.#reading.shift();
    if (read !== undefined) return read({ done: false, value });
    if (this.#waiting.length >= WAITING_MAX) this.#waiting.shift();
    this.#waiting.push(value);
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#onEnd();
    for (const read of this.#reading.splice(0)) read(END);
  }

  next(): Promise<IteratorResult<CallSummary, undefined>> {
    const value = this.#waiting.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#isEnded) return Promise.resolve(END);
    return new Promise((resolve) => void this.#reading.push(resolve));
  }

  return(): Promise<IteratorResult<CallSummary, undefined>> {
    this.#waiting.length = 0;
    this.end();
    return Promise.resolve(END);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

const END = { done: true, value: undefined } as const;
