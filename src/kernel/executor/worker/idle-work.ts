import type { Isolates } from "./isolates.ts";
import { getHeapStatistics, queryObjects } from "node:v8";

/** Time without a message after which a worker counts as idle, in milliseconds: another call may follow at once. */
const QUIET_MS = 5;
/** The same after an inspection: its tool is likely to be called soon. */
const FIRST_CALL_MS = 25;
/** Time after an inspection for which long work is put off, in milliseconds. */
const EXPECTED_MS = 500;
/** Time after which a busy worker prepares all the same, in milliseconds. */
const PATIENCE_MS = 100;

/**
 * Prepares isolates for later calls while the worker is idle: in small steps, so that a call waits for one isolate at
 * most.
 */
export class Preparation {
  readonly #isolates: Isolates;
  readonly #onWork: () => void;
  #later: NodeJS.Timeout | null = null;
  #soon: NodeJS.Immediate | null = null;
  /** Time since which an isolate is wanted. */
  #sinceMs = 0;
  #expectedUntilMs = 0;

  /** `onWork` is called after each step. */
  constructor(isolates: Isolates, onWork: () => void) {
    this.#isolates = isolates;
    this.#onWork = onWork;
  }

  /** Prepares something once the worker is idle; `expectsCall` delays it, because a call is likely to follow. */
  begin(expectsCall: boolean): void {
    if (expectsCall) this.#expectedUntilMs = performance.now() + EXPECTED_MS;
    if (this.#soon !== null) return;
    if (this.#isolates.isNextWanting) {
      this.#soon = setImmediate(() => this.#work());
      return;
    }
    if (!this.#isolates.isWanting) return;
    const nowMs = performance.now();
    if (this.#later === null) this.#sinceMs = nowMs;
    else if (nowMs - this.#sinceMs > PATIENCE_MS) return;
    else clearTimeout(this.#later);
    this.#later = setTimeout(() => this.#work(), expectsCall ? FIRST_CALL_MS : QUIET_MS).unref();
  }

  #work(): void {
    this.stop();
    this.#isolates.refill();
    this.#onWork();
    this.begin(false);
  }

  /** Whether the first call of a tool that was inspected is still likely to follow. */
  get expectsCall(): boolean {
    return performance.now() < this.#expectedUntilMs;
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

/** Minimum external memory, as reported by isolates, at which garbage is collected: V8 itself does not count it. */
const OUTSIDE_MIN_BYTES = 8 * 1024 * 1024;

class Nothing {}

/**
 * Makes V8 collect this thread's garbage: `queryObjects` does before it counts objects. The flag `--expose-gc` would
 * affect all isolates.
 */
export function collectGarbage(): void {
  // Node 24 warns of it on stderr, which belongs to the embedder if the thread is in the embedder's process.
  const emitWarning: unknown = Reflect.get(process, "emitWarning");
  process.emitWarning = () => {};
  try {
    queryObjects(Nothing, { format: "count" });
  } finally {
    Reflect.set(process, "emitWarning", emitWarning);
  }
}

/** Maximum number of delays of a collection for calls: memory is more urgent then. */
const PUT_OFF_MAX = 4;

/** Collects garbage with external memory, when it has doubled since the last collection. */
export class GarbageCollector {
  #maxBytes = OUTSIDE_MIN_BYTES;
  #putOff = 0;

  /** `expectsCall`: a call runs or is likely to follow, and would wait for as long as an interpreter takes to start. */
  collect(expectsCall: boolean): void {
    if (getHeapStatistics().external_memory <= this.#maxBytes) return;
    if (expectsCall && this.#putOff++ < PUT_OFF_MAX) return;
    this.#putOff = 0;
    collectGarbage();
    this.#maxBytes = Math.max(OUTSIDE_MIN_BYTES, 2 * getHeapStatistics().external_memory);
  }
}
