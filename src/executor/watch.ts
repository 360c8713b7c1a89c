import type { HungryTurn } from "../base/protocol/control.ts";
import { monotonicMs, readReservedMb, readTurns, type Turn } from "../base/protocol/turn-record.ts";

const WATCH_EVERY_MS = 25;
/** Extra time of a turn beyond its budget, in milliseconds, before it counts as one that V8 cannot interrupt. */
const GRACE_MS = 250;
/** Memory of a process besides its isolates, and V8's possible excess over a heap limit, in MiB. */
const HEADROOM_MB = 768;
/** Memory of a worker thread that has not started yet when the watch starts, in MiB. */
const WORKER_MB = 16;

export interface TurnReports {
  overrun(callNumber: number, elapsedMs: number): void;
  memory(turns: readonly HungryTurn[], rssMb: number): void;
}

/**
 * Watches the turns of workers from a thread that never runs tool code and so is never blocked. It only reports: the
 * owner of the process decides.
 */
export class TurnWatch implements Disposable {
  readonly #record: SharedArrayBuffer;
  readonly #rssMaxMb: number;
  readonly #reports: TurnReports;
  readonly #timer: NodeJS.Timeout;
  readonly #baseRssMb: number;
  /** Memory at the start of each worker's turn, and at the last look. */
  readonly #before = new Map<number, { readonly startMs: number; readonly rssMb: number }>();
  #lastRssMb = rssMb();

  /** `rssMaxMb` 0 disables the memory watch: in a process with other code, its memory says nothing about tools. */
  constructor(record: SharedArrayBuffer, rssMaxMb: number, reports: TurnReports) {
    this.#record = record;
    this.#rssMaxMb = rssMaxMb;
    this.#baseRssMb = rssMb() + WORKER_MB * readTurns(record).length;
    this.#reports = reports;
    this.#timer = setInterval(() => this.#look(), WATCH_EVERY_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const nowMs = monotonicMs();
    const turns = readTurns(this.#record);
    for (const turn of turns) {
      if (turn === null) continue;
      const elapsedMs = nowMs - turn.startMs;
      if (elapsedMs > turn.budgetMs + GRACE_MS) this.#reports.overrun(turn.callNumber, elapsedMs);
    }
    if (this.#rssMaxMb > 0) this.#weigh(turns);
  }

  #weigh(turns: readonly (Turn | null)[]): void {
    const ceilingMb = Math.min(this.#rssMaxMb, this.#baseRssMb + readReservedMb(this.#record) + HEADROOM_MB);
    const usedMb = rssMb();
    const hungry: HungryTurn[] = [];
    for (const [worker, turn] of turns.entries()) {
      if (turn === null) continue;
      const known = this.#before.get(worker);
      const before = known?.startMs === turn.startMs ? known : { startMs: turn.startMs, rssMb: this.#lastRssMb };
      this.#before.set(worker, before);
      hungry.push({ callNumber: turn.callNumber, grownMb: usedMb - before.rssMb });
    }
    this.#lastRssMb = usedMb;
    if (usedMb > ceilingMb) this.#reports.memory(hungry, usedMb);
  }
}

function rssMb(): number {
  return process.memoryUsage.rss() / (1024 * 1024);
}
