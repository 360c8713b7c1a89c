import type { Isolates } from "./isolates.ts";
import { getHeapStatistics, queryObjects } from "node:v8";

/**
 * Delay after an inspection, in milliseconds: its tool is likely to be called soon, and that call must not wait for a
 * preparation.
 */
const FIRST_CALL_MS = 5;

/**
 * Prepares isolates for later calls while the worker is idle: in small steps, so that a call waits for one isolate at
 * most.
 */
export class Preparation {
  readonly #isolates: Isolates;
  readonly #onWork: () => void;
  #later: NodeJS.Timeout | null = null;
  #soon: NodeJS.Immediate | null = null;

  /** `onWork` is called after each step. */
  constructor(isolates: Isolates, onWork: () => void) {
    this.#isolates = isolates;
    this.#onWork = onWork;
  }

  /** Starts preparing once the worker is idle; `expectsCall` delays it, because a call is likely to follow. */
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
      const isMore = this.#isolates.refill();
      this.#onWork();
      if (isMore) this.begin(false);
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

/** Minimum external memory, as reported by isolates, at which garbage is collected: V8 itself sees no reason to. */
const OUTSIDE_MIN_BYTES = 8 * 1024 * 1024;

class Nothing {}

/**
 * Makes V8 collect this thread's garbage: `queryObjects` does before it counts objects. The flag `--expose-gc` would
 * affect all isolates.
 */
export function collectGarbage(): void {
  queryObjects(Nothing, { format: "count" });
}

/** Collects garbage with external memory: when it has doubled since the last collection. */
export class GarbageCollector {
  #maxBytes = OUTSIDE_MIN_BYTES;

  collect(): void {
    if (getHeapStatistics().external_memory <= this.#maxBytes) return;
    collectGarbage();
    this.#maxBytes = Math.max(OUTSIDE_MIN_BYTES, 2 * getHeapStatistics().external_memory);
  }
}
