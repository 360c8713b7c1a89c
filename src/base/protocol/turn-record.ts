import { writeSync, readSync } from "node:fs";

/**
 * The current turn of each worker, in memory shared with its watcher: the call, the start and the time budget. Also
 * mirrored into a file where the system allows it: shared memory is lost when a process aborts, and the supervisor must
 * still learn which turn was running.
 */

/** Numbers in a worker's slot: run, start, budget, reserved memory. */
const FIELDS = 4;
const SLOT_BYTES = FIELDS * Float64Array.BYTES_PER_ELEMENT;

export interface Turn {
  /** The call's number; negative for a turn of several calls of one tool, of which this is the first. */
  readonly callNumber: number;
  /** Milliseconds of the process-wide monotonic clock. */
  readonly startMs: number;
  readonly budgetMs: number;
}

/** Milliseconds of a clock shared by all threads of a process, unlike `performance.now()`. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

export function turnRecordBuffer(workers: number): SharedArrayBuffer {
  return new SharedArrayBuffer(workers * SLOT_BYTES);
}

/** A worker's own slot: written at the start and at the end of every turn. */
export class TurnSlot {
  readonly #fields: Float64Array;
  readonly #bytes: Uint8Array;
  readonly #mirrorFd: number | undefined;
  readonly #mirrorAt: number;
  /** Offset from this thread's own clock, which is cheaper to read, to the shared clock. */
  readonly #clockOffsetMs: number;
  #isMirrored = false;

  constructor(buffer: SharedArrayBuffer, worker: number, mirrorFd: number | undefined) {
    this.#fields = new Float64Array(buffer, worker * SLOT_BYTES, FIELDS);
    this.#bytes = new Uint8Array(buffer, worker * SLOT_BYTES, SLOT_BYTES);
    this.#mirrorFd = mirrorFd;
    this.#mirrorAt = worker * SLOT_BYTES;
    this.#clockOffsetMs = monotonicMs() - performance.now();
  }

  begin(callNumber: number, budgetMs: number, nowMs: number): void {
    this.#fields[0] = callNumber;
    this.#fields[2] = budgetMs;
    this.#fields[1] = nowMs + this.#clockOffsetMs;
    this.#isMirrored = true;
    this.#mirror();
  }

  /** The mirror file keeps the turn until `rest`: it is read only after a crash, which happens within a turn. */
  end(): void {
    this.#fields[1] = 0;
  }

  /** Clears the turn in the mirror file, once for all turns that ended since the last time. */
  rest(): void {
    if (this.#isMirrored) this.#mirror();
    this.#isMirrored = false;
  }

  /** Sets the memory that the worker's isolates may use together, in MiB. */
  reserve(memoryMb: number): void {
    this.#fields[3] = memoryMb;
  }

  #mirror(): void {
    if (this.#mirrorFd !== undefined) writeSync(this.#mirrorFd, this.#bytes, 0, SLOT_BYTES, this.#mirrorAt);
  }
}

/** The running turns, by worker: `null` for a worker without one. */
export function readTurns(buffer: ArrayBufferLike): (Turn | null)[] {
  const fields = new Float64Array(buffer);
  const turns: (Turn | null)[] = [];
  for (let at = 0; at + FIELDS <= fields.length; at += FIELDS) {
    const [callNumber = 0, startMs = 0, budgetMs = 0] = fields.subarray(at, at + FIELDS);
    turns.push(startMs === 0 ? null : { callNumber, startMs, budgetMs });
  }
  return turns;
}

/** Memory that the isolates of all workers may use together, in MiB. */
export function readReservedMb(buffer: SharedArrayBuffer): number {
  const fields = new Float64Array(buffer);
  let reservedMb = 0;
  for (let at = FIELDS - 1; at < fields.length; at += FIELDS) reservedMb += fields[at] ?? 0;
  return reservedMb;
}

/** The turns that were running when a process died, read from its mirror file. */
export function readMirror(fd: number, workers: number): (Turn | null)[] {
  const bytes = new Uint8Array(workers * SLOT_BYTES);
  readSync(fd, bytes, 0, bytes.length, 0);
  return readTurns(bytes.buffer);
}
