import type { HungryTurn } from "../base/protocol/control.ts";
import {
  CELL,
  type Cells,
  cellsOf,
  LAST_BEAT,
  monotonicMs,
  readTurns,
  type Turn,
} from "../base/protocol/turn-record.ts";
import { MemoryWatch, type MemoryWatchOptions } from "./memory-watch.ts";
import { ThreadTimes } from "./thread-times.ts";

const WATCH_EVERY_MS = 10;
/** Processor time of a turn after its end was ordered, in milliseconds, before it counts as impossible to end. */
const GRACE_MS = 250;
/** Maximum elapsed time of a turn, as a factor of its budget and an addition: V8's own timeout ends it before. */
const ELAPSED_FACTOR = 20;
const ELAPSED_MS = 5_000;
/** Budget from which a turn is interrupted, in milliseconds: one with less ends soon by itself. */
const INTERRUPT_FROM_MS = 50;
/** Beats are small numbers from 0. */
const BEAT_MASK = 0xffff;
/** Maximum number of remembered interrupts, and their maximum age, in milliseconds. */
const INTERRUPTS_MAX = 10_000;
const INTERRUPT_MS = 60_000;

export interface TurnReports {
  overrun(callNumber: number, cpuMs: number): void;
  memory(turns: readonly HungryTurn[], rssMb: number): void;
}

/** The memory of a process that only runs tools, and its maximum, in MiB. */
export type WatchedMemory = Pick<MemoryWatchOptions, "holdings" | "rssMaxMb">;

/** A turn, as far as it has been watched. */
interface WatchedTurn {
  readonly number: number;
  /** The thread's processor time when the turn was first seen, in milliseconds. */
  readonly fromMs: number;
  /** Processor time of the turn when its end was ordered. */
  condemnedAtMs: number | null;
}

/**
 * Watches the turns of workers from a thread that never runs tool code and so is never blocked. It orders the end of a
 * turn from the worker's terminator, and reports turns that do not end: the owner of the process decides.
 */
export class TurnWatch implements Disposable {
  readonly #record: SharedArrayBuffer;
  readonly #memory: MemoryWatch | null;
  readonly #reports: TurnReports;
  readonly #times: ThreadTimes;
  readonly #cells: readonly Cells[];
  readonly #watched: (WatchedTurn | null)[];
  /** Calls whose results are no longer needed: their turns are ended. With the time of the request, oldest first. */
  readonly #interrupts = new Map<number, number>();
  readonly #timer: NodeJS.Timeout;
  #beat = 0;

  /** Without `memory`, memory is not watched: in a process with other code, it says nothing about tools. */
  constructor(
    record: SharedArrayBuffer,
    reports: TurnReports,
    memory: WatchedMemory | null = null,
    times = new ThreadTimes(),
  ) {
    this.#record = record;
    const report: MemoryWatchOptions["report"] = (turns, rssMb) => reports.memory(turns, rssMb);
    const shed = (worker: number, isolate: number) => this.#shed(worker, isolate);
    this.#memory = memory === null ? null : new MemoryWatch({ ...memory, record, shed, report });
    this.#times = times;
    const turns = readTurns(record);
    this.#cells = turns.map((_, worker) => cellsOf(record, worker));
    this.#watched = turns.map(() => null);
    this.#reports = reports;
    this.#timer = setInterval(() => this.#look(), WATCH_EVERY_MS).unref();
  }

  /**
   * Ends the call's turn if it has one, or its next one. A turn of several calls is not ended: it is short, and the
   * others are not to blame. A turn that ends before the next look is not cut.
   */
  interrupt(callNumber: number): void {
    this.#interrupts.set(callNumber, monotonicMs());
    if (this.#interrupts.size <= INTERRUPTS_MAX) return;
    for (const oldest of this.#interrupts.keys()) {
      this.#interrupts.delete(oldest);
      return;
    }
  }

  /** Ends the largest idle isolate of each worker. */
  shedIdle(): void {
    this.#memory?.shedIdle();
  }

  /** Ends all turns, also those that begin later. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const cells of this.#cells) {
      Atomics.store(cells, CELL.beat, LAST_BEAT);
      ring(cells);
    }
    this.#times[Symbol.dispose]();
  }

  #look(): void {
    const nowMs = monotonicMs();
    const turns = readTurns(this.#record);
    this.#times.look(
      nowMs,
      turns.flatMap((turn, worker) => (turn === null ? [] : [worker])),
    );
    this.#beat = (this.#beat + 1) & BEAT_MASK;
    for (const [worker, cells] of this.#cells.entries()) {
      Atomics.store(cells, CELL.beat, this.#beat);
      const turn = turns[worker];
      if (turn) this.#lookAt(turn, worker, cells, nowMs);
      else this.#watched[worker] = null;
    }
    for (const [callNumber, sinceMs] of this.#interrupts) {
      if (nowMs - sinceMs < INTERRUPT_MS) break;
      this.#interrupts.delete(callNumber);
    }
    this.#memory?.look(turns, nowMs);
  }

  #shed(worker: number, isolate: number): void {
    const cells = this.#cells[worker];
    if (cells === undefined) return;
    Atomics.store(cells, CELL.shed, isolate);
    ring(cells);
  }

  #lookAt({ callNumber, startMs, budgetMs }: Turn, worker: number, cells: Cells, nowMs: number): void {
    const number = Atomics.load(cells, CELL.turn);
    const threadMs = this.#times.readMs(worker, Atomics.load(cells, CELL.thread));
    const known = this.#watched[worker];
    if (known?.number !== number) {
      // Its time so far is unknown, and not charged: no turn is ended within its budget.
      this.#watched[worker] = { number, fromMs: threadMs, condemnedAtMs: null };
      return;
    }
    const cpuMs = threadMs - known.fromMs;
    const isOver = cpuMs > budgetMs;
    // At every look, because the terminator may be away for a moment.
    if (isOver || (budgetMs > INTERRUPT_FROM_MS && this.#interrupts.has(callNumber))) condemn(cells, number);
    if (isOver) known.condemnedAtMs ??= cpuMs;
    const isStuck = known.condemnedAtMs !== null && cpuMs - known.condemnedAtMs > GRACE_MS;
    if (isStuck || nowMs - startMs > ELAPSED_FACTOR * budgetMs + ELAPSED_MS) this.#reports.overrun(callNumber, cpuMs);
  }
}

/** Orders the end of the turn with that number, and of no other. */
function condemn(cells: Cells, number: number): void {
  Atomics.store(cells, CELL.condemned, number);
  ring(cells);
}

function ring(cells: Cells): void {
  Atomics.add(cells, CELL.bell, 1);
  Atomics.notify(cells, CELL.bell);
}
