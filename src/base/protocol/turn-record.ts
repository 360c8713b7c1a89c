import { writeSync, readSync } from "node:fs";

/**
 * What each worker is doing right now, in memory that its watcher shares: which call's turn it is in, since when,
 * and how long that turn may last. It is also mirrored into a file, where the system has one to give, because
 * memory is gone when a process aborts and the supervisor must still learn whose turn it was.
 */

/** Numbers in a worker's slot: run, start, budget, reserved memory. */
const FIELDS = 4;
const SLOT_BYTES = FIELDS * Float64Array.BYTES_PER_ELEMENT;

export interface Turn {
  /** The call's number; negative for a turn in which calls of its tool went together, this one first. */
  readonly run: number;
  /** Milliseconds of the process-wide monotonic clock. */
  readonly startMs: number;
  readonly budgetMs: number;
}

/** Milliseconds of a clock that all threads of a process share, unlike `performance.now()`. */
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
  /** From this thread's own clock, which is cheaper to read, to the one all threads share. */
  readonly #clockOffsetMs: number;
  #isMirrored = false;

  constructor(buffer: SharedArrayBuffer, worker: number, mirrorFd: number | undefined) {
    this.#fields = new Float64Array(buffer, worker * SLOT_BYTES, FIELDS);
    this.#bytes = new Uint8Array(buffer, worker * SLOT_BYTES, SLOT_BYTES);
    this.#mirrorFd = mirrorFd;
    this.#mirrorAt = worker * SLOT_BYTES;
    this.#clockOffsetMs = monotonicMs() - performance.now();
  }

  begin(run: number, budgetMs: number, nowMs: number): void {
    this.#fields[0] = run;
    this.#fields[2] = budgetMs;
    this.#fields[1] = nowMs + this.#clockOffsetMs;
    this.#isMirrored = true;
    this.#mirror();
  }

  /** The mirror keeps the turn until `rest`: it is read only after a crash, and that comes within a turn. */
  end(): void {
    this.#fields[1] = 0;
  }

  /** Tells the mirror that no turn runs, once for all that have ended since the last time. */
  rest(): void {
    if (this.#isMirrored) this.#mirror();
    this.#isMirrored = false;
  }

  /** How much memory the worker's isolates may use together, in MiB. */
  reserve(memoryMb: number): void {
    this.#fields[3] = memoryMb;
  }

  #mirror(): void {
    if (this.#mirrorFd !== undefined) writeSync(this.#mirrorFd, this.#bytes, 0, SLOT_BYTES, this.#mirrorAt);
  }
}

/** The turns that run now, by worker: `null` for a worker that is in none. */
export function readTurns(buffer: ArrayBufferLike): (Turn | null)[] {
  const fields = new Float64Array(buffer);
  const turns: (Turn | null)[] = [];
  for (let at = 0; at + FIELDS <= fields.length; at += FIELDS) {
    const [run = 0, startMs = 0, budgetMs = 0] = fields.subarray(at, at + FIELDS);
    turns.push(startMs === 0 ? null : { run, startMs, budgetMs });
  }
  return turns;
}

/** What the isolates of all workers may use together, in MiB. */
export function readReservedMb(buffer: SharedArrayBuffer): number {
  const fields = new Float64Array(buffer);
  let reservedMb = 0;
  for (let at = FIELDS - 1; at < fields.length; at += FIELDS) reservedMb += fields[at] ?? 0;
  return reservedMb;
}

/** The turns that ran when a process died, from the mirror it leaves behind. */
export function readMirror(fd: number, workers: number): (Turn | null)[] {
  const bytes = new Uint8Array(workers * SLOT_BYTES);
  readSync(fd, bytes, 0, bytes.length, 0);
  return readTurns(bytes.buffer);
}
