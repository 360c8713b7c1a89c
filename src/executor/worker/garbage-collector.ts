import { getHeapStatistics, queryObjects } from "node:v8";

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
