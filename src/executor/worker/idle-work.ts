import type { Isolates } from "./isolates.ts";
import { getHeapStatistics, queryObjects } from "node:v8";

/** Within this time after an inspection its tool is likely to be called: that call shall not wait for a preparation. */
const FIRST_CALL_MS = 5;

/**
 * Prepares isolates for calls that may come, while the worker has nothing else to do: a little at a time, so that a
 * call that comes meanwhile waits for one isolate at most.
 */
export class Preparation {
  readonly #isolates: Isolates;
  #later: NodeJS.Timeout | null = null;
  #soon: NodeJS.Immediate | null = null;

  constructor(isolates: Isolates) {
    this.#isolates = isolates;
  }

  /** All there was to do is done; `expectsCall` where more is likely to follow at once. */
  begin(expectsCall: boolean): void {
    if (expectsCall) {
      this.stop();
      this.#later = setTimeout(() => {
        this.#later = null;
        this.begin(false);
      }, FIRST_CALL_MS).unref();
      return;
    }
    if (this.#soon !== null || !this.#isolates.isWanting) return;
    this.stop();
    this.#soon = setImmediate(() => {
      this.#soon = null;
      if (this.#isolates.refill()) this.begin(false);
    });
  }

  get isPending(): boolean {
    return this.#later !== null || this.#soon !== null;
  }

  stop(): void {
    if (this.#later !== null) clearTimeout(this.#later);
    if (this.#soon !== null) clearImmediate(this.#soon);
    this.#later = null;
    this.#soon = null;
  }
}

/** What isolates have said lies outside this thread's heap, where V8 sees no reason to collect it. */
const OUTSIDE_MIN_BYTES = 8 * 1024 * 1024;

class Nothing {}

/** Has V8 collect this thread's garbage: it does before it counts objects. The flag for that would be all isolates'. */
export function collectGarbage(): void {
  queryObjects(Nothing, { format: "count" });
}

/** Garbage outside of this thread's heap: collected when there is twice as much as was still in use the last time. */
export class GarbageCollector {
  #maxBytes = OUTSIDE_MIN_BYTES;

  collect(): void {
    if (getHeapStatistics().external_memory <= this.#maxBytes) return;
    collectGarbage();
    this.#maxBytes = Math.max(OUTSIDE_MIN_BYTES, 2 * getHeapStatistics().external_memory);
  }
}
