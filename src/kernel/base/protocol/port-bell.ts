import { monotonicMs } from "./turn-record.ts";

/** Its numbers. */
const CELL = {
  /** Changes and is notified whenever the worker should look. */
  rung: 0,
  /** Whether the host has closed the link. */
  closed: 1,
  /** Whether the worker serves the port. */
  served: 2,
  /** Whether the process ends and waits for the worker. */
  hurry: 3,
} as const;
const CELLS = 4;

export function portBellBuffer(): SharedArrayBuffer {
  return new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT);
}

/**
 * Memory that a host and a worker thread share beside a message port, for signals that must not wait for an event loop.
 */
export class PortBell {
  readonly #cells: Int32Array<SharedArrayBuffer>;

  constructor(buffer: SharedArrayBuffer) {
    this.#cells = new Int32Array(buffer);
  }

  ring(): void {
    Atomics.add(this.#cells, CELL.rung, 1);
    Atomics.notify(this.#cells, CELL.rung);
  }

  /** Number of rings. */
  get count(): number {
    return Atomics.load(this.#cells, CELL.rung);
  }

  /** Sleeps for `ms` unless it was rung since that count; returns whether it was. */
  isRungSince(count: number, ms: number): boolean {
    return Atomics.wait(this.#cells, CELL.rung, count, ms) !== "timed-out";
  }

  /** The host needs the worker no more; the worker reads this flag. */
  close(): void {
    Atomics.store(this.#cells, CELL.closed, 1);
  }

  get isClosed(): boolean {
    return Atomics.load(this.#cells, CELL.closed) === 1;
  }

  /** The process ends: the worker does only the necessary work. */
  hurry(): void {
    Atomics.store(this.#cells, CELL.hurry, 1);
  }

  get isHurried(): boolean {
    return Atomics.load(this.#cells, CELL.hurry) === 1;
  }

  /**
   * The worker begins to serve; returns whether it may. It may not if the host has closed; otherwise the host waits for
   * it.
   */
  begin(): boolean {
    Atomics.store(this.#cells, CELL.served, 1);
    if (!this.isClosed) return true;
    this.end();
    return false;
  }

  /** The worker has cleaned up. */
  end(): void {
    Atomics.store(this.#cells, CELL.served, 0);
    Atomics.notify(this.#cells, CELL.served);
  }

  /** Blocks until the worker has ended, at most until that time of the monotonic clock. */
  awaitEnd(untilMs: number): void {
    while (Atomics.load(this.#cells, CELL.served) === 1) {
      const leftMs = untilMs - monotonicMs();
      if (leftMs <= 0) return;
      Atomics.wait(this.#cells, CELL.served, 1, leftMs);
    }
  }
}
