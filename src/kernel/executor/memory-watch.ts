import type { HungryTurn } from "../base/protocol/control.ts";
import { type Holding, readHoldings, removeHolding } from "../base/protocol/holdings.ts";
import { monotonicMs, readReservedMb, readTurns, type Turn } from "../base/protocol/turn-record.ts";

/** Memory of a process besides its isolates, and V8's possible excess over a heap limit, in MiB. */
const HEADROOM_MB = 768;
/** Memory of a worker thread that has not started yet when the watch starts, in MiB. */
const WORKER_MB = 16;
/** Smallest isolate that is shed: smaller ones give back little, in MiB. */
const SHED_MIN_MB = 8;
/** Time between two sheddings, in milliseconds: memory is released some time later. */
const SHED_EVERY_MS = 100;
/** Time above the ceiling after which shedding has failed, in milliseconds, and the share of it that is too much. */
const SHED_FOR_MS = 2_000;
const EXCESS_FACTOR = 1.5;
const MIB = 1024 * 1024;

export interface MemoryWatchOptions {
  readonly record: SharedArrayBuffer;
  readonly holdings: SharedArrayBuffer;
  readonly rssMaxMb: number;
  /** Ends the isolate with that number. */
  readonly shed: (worker: number, isolate: number) => void;
  /** Called if shedding has failed: the process has to end. */
  readonly report: (turns: readonly HungryTurn[], rssMb: number) => void;
  readonly rssMb?: () => number;
}

/**
 * Watches the memory of an executor process. Above the ceiling, the tenant whose isolates use most releases the largest
 * one, idle ones first. The process is reported only if that does not help in time.
 */
export class MemoryWatch {
  readonly #options: MemoryWatchOptions;
  readonly #rssMb: () => number;
  readonly #baseRssMb: number;
  /** Memory at the start of each worker's turn, and at the last look. */
  readonly #before = new Map<number, { readonly startMs: number; readonly rssMb: number }>();
  #lastRssMb: number;
  /** Time at which memory rose above the ceiling, and time of the last shedding. */
  #aboveSinceMs: number | null = null;
  #shedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: MemoryWatchOptions) {
    this.#options = options;
    this.#rssMb = options.rssMb ?? processRssMb;
    this.#lastRssMb = this.#rssMb();
    this.#baseRssMb = this.#lastRssMb + WORKER_MB * readTurns(options.record).length;
  }

  look(turns: readonly (Turn | null)[], nowMs = monotonicMs()): void {
    const { record, rssMaxMb } = this.#options;
    const ceilingMb = Math.min(rssMaxMb, this.#baseRssMb + readReservedMb(record) + HEADROOM_MB);
    const usedMb = this.#rssMb();
    const hungry = this.#hungryTurns(turns, usedMb);
    this.#lastRssMb = usedMb;
    if (usedMb <= ceilingMb) {
      this.#aboveSinceMs = null;
      return;
    }
    this.#aboveSinceMs ??= nowMs;
    const isHopeless = nowMs - this.#aboveSinceMs > SHED_FOR_MS || usedMb > EXCESS_FACTOR * ceilingMb;
    if (isHopeless) return this.#options.report(hungry, usedMb);
    if (nowMs - this.#shedAtMs < SHED_EVERY_MS) return;
    const holding = largestHolding(readHoldings(this.#options.holdings));
    if (holding === null) return;
    this.#shedAtMs = nowMs;
    removeHolding(this.#options.holdings, holding);
    this.#options.shed(holding.worker, holding.isolate);
  }

  /** Releases memory on a machine that is short of it: the largest idle isolate of each worker, of any tenant. */
  shedIdle(): void {
    const largest = new Map<number, Holding>();
    for (const holding of readHoldings(this.#options.holdings)) {
      if (holding.calls > 0 || holding.bytes <= (largest.get(holding.worker)?.bytes ?? 0)) continue;
      largest.set(holding.worker, holding);
    }
    for (const holding of largest.values()) {
      removeHolding(this.#options.holdings, holding);
      this.#options.shed(holding.worker, holding.isolate);
    }
  }

  /** The running turns, and the growth of the process's memory since each began. */
  #hungryTurns(turns: readonly (Turn | null)[], usedMb: number): HungryTurn[] {
    const hungry: HungryTurn[] = [];
    for (const [worker, turn] of turns.entries()) {
      if (turn === null) continue;
      const known = this.#before.get(worker);
      const before = known?.startMs === turn.startMs ? known : { startMs: turn.startMs, rssMb: this.#lastRssMb };
      this.#before.set(worker, before);
      hungry.push({ callNumber: turn.callNumber, grownMb: usedMb - before.rssMb });
    }
    return hungry;
  }
}

/** The largest isolate of the tenant that uses most: one without calls, if it has any. */
function largestHolding(holdings: readonly Holding[]): Holding | null {
  const totals = new Map<number, number>();
  for (const { tenant, bytes } of holdings) totals.set(tenant, (totals.get(tenant) ?? 0) + bytes);
  const [worst] = [...totals].toSorted(([, one], [, other]) => other - one);
  const candidates = holdings.filter(({ tenant, bytes }) => tenant === worst?.[0] && bytes >= SHED_MIN_MB * MIB);
  const isBusy = ({ calls }: Holding): number => (calls > 0 ? 1 : 0);
  return candidates.toSorted((one, other) => isBusy(one) - isBusy(other) || other.bytes - one.bytes)[0] ?? null;
}

function processRssMb(): number {
  return process.memoryUsage.rss() / MIB;
}
