import { readSync, writeSync } from "node:fs";

/**
 * The current turn of each worker, in memory shared with its watch: the call, the start and the time budget, and the
 * cells by which the watch has a turn ended. The former is also mirrored into a file if the system allows it: shared
 * memory is lost when a process aborts, and the supervisor must still learn which turn was running.
 */

/** Numbers in a worker's slot: run, start, budget, reserved memory. */
const FIELDS = 4;
const SLOT_BYTES = FIELDS * Float64Array.BYTES_PER_ELEMENT;

/** A worker's cells, by index. They follow the slots of all workers. */
export const CELL = {
  /** Changes and is notified whenever the terminator should look. */
  bell: 0,
  /** Number of the turn that the watch wants to end; 0 for none. */
  condemned: 1,
  /** Number of the turn that the terminator ended last. */
  ended: 2,
  /** Number of the current turn; 0 between turns. */
  turn: 3,
  /** Number of the isolate in which it runs; 0 for none that could be ended. */
  isolate: 4,
  /** Number of threads that wait to enter the terminator's isolate: it leaves for them. */
  wanted: 5,
  /** Changes with every look of the watch; `LAST_BEAT` once all turns have to end. */
  beat: 6,
  /** The worker's thread, as the system numbers it; 0 if it is unknown. */
  thread: 7,
  /** Number of an isolate that the watch wants to end for its memory; 0 for none. */
  shed: 8,
} as const;
/** The beat of a watch that has ended. */
export const LAST_BEAT = -1;
const CELLS = 9;
const CELLS_BYTES = CELLS * Int32Array.BYTES_PER_ELEMENT;

export type Cells = Int32Array<SharedArrayBuffer>;

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
  return new SharedArrayBuffer(workers * (SLOT_BYTES + CELLS_BYTES));
}

/** The cells of a worker. */
export function cellsOf(buffer: SharedArrayBuffer, worker: number): Cells {
  return new Int32Array(buffer, workersOf(buffer) * SLOT_BYTES + worker * CELLS_BYTES, CELLS);
}

function workersOf(buffer: SharedArrayBuffer): number {
  return buffer.byteLength / (SLOT_BYTES + CELLS_BYTES);
}

/** A worker's own slot: written at the start and at the end of every turn. */
export class TurnSlot {
  readonly cells: Cells;
  readonly #fields: Float64Array;
  readonly #bytes: Uint8Array;
  readonly #mirrorFd: number | undefined;
  readonly #mirrorAt: number;
  /** Offset from this thread's own clock, which is cheaper to read, to the shared clock. */
  readonly #clockOffsetMs: number;
  #isMirrored = false;
  #turn = 0;

  constructor(buffer: SharedArrayBuffer, worker: number, mirrorFd: number | undefined) {
    this.#fields = new Float64Array(buffer, worker * SLOT_BYTES, FIELDS);
    this.#bytes = new Uint8Array(buffer, worker * SLOT_BYTES, SLOT_BYTES);
    this.cells = cellsOf(buffer, worker);
    this.#mirrorFd = mirrorFd;
    this.#mirrorAt = worker * SLOT_BYTES;
    this.#clockOffsetMs = monotonicMs() - performance.now();
    // A thread that replaces another one numbers its turns from the start again.
    this.cells.fill(0);
  }

  /** Begins a turn in the isolate of that number, 0 for none; returns the turn's own number, never 0. */
  begin(callNumber: number, budgetMs: number, nowMs: number, isolate = 0): number {
    this.#fields[0] = callNumber;
    this.#fields[2] = budgetMs;
    this.#fields[1] = nowMs + this.#clockOffsetMs;
    this.#isMirrored = true;
    this.#mirror();
    this.#turn = (this.#turn + 1) | 0 || 1;
    this.cells[CELL.isolate] = isolate;
    // Written last: a reader that finds this number also finds the rest.
    Atomics.store(this.cells, CELL.turn, this.#turn);
    return this.#turn;
  }

  /** The mirror file keeps the turn until `rest`: it is read only after a crash, which happens within a turn. */
  end(): void {
    this.#fields[1] = 0;
    Atomics.store(this.cells, CELL.turn, 0);
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
export function readTurns(buffer: SharedArrayBuffer): (Turn | null)[] {
  return turnsIn(new Float64Array(buffer, 0, workersOf(buffer) * FIELDS));
}

function turnsIn(fields: Float64Array): (Turn | null)[] {
  const turns: (Turn | null)[] = [];
  for (let at = 0; at + FIELDS <= fields.length; at += FIELDS) {
    const [callNumber = 0, startMs = 0, budgetMs = 0] = fields.subarray(at, at + FIELDS);
    turns.push(startMs === 0 ? null : { callNumber, startMs, budgetMs });
  }
  return turns;
}

/** Memory that the isolates of all workers may use together, in MiB. */
export function readReservedMb(buffer: SharedArrayBuffer): number {
  const fields = new Float64Array(buffer, 0, workersOf(buffer) * FIELDS);
  let reservedMb = 0;
  for (let at = FIELDS - 1; at < fields.length; at += FIELDS) reservedMb += fields[at] ?? 0;
  return reservedMb;
}

/** The turns that were running when a process died, read from its mirror file. */
export function readMirror(fd: number, workers: number): (Turn | null)[] {
  const bytes = new Uint8Array(workers * SLOT_BYTES);
  readSync(fd, bytes, 0, bytes.length, 0);
  return turnsIn(new Float64Array(bytes.buffer));
}
