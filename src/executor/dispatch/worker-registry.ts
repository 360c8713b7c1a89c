import type { WorkerStats } from "../../base/protocol/messages.ts";
import type { CallOwner, WorkerConnection } from "./worker-connection.ts";
import type { ExecutorStats } from "../executor.ts";

const MIB = 1024 * 1024;
/** A process with its threads, and what an isolate takes besides the heap that it uses. */
const PROCESS_BYTES = 128 * MIB;
const ISOLATE_BYTES = 10 * MIB;

/** The lanes of a dispatcher, and what their workers tell of themselves. */
export class WorkerRegistry {
  /** Lanes that get calls. */
  readonly serving = new Set<WorkerConnection>();
  /** Lanes that get no more calls and still have some. */
  readonly leaving = new Set<WorkerConnection>();
  readonly #stats = new Map<WorkerConnection, WorkerStats>();
  /** Isolates and contexts that were started by lanes that are gone. */
  readonly #pastStarts = new Map<string, number>();

  retire(lane: WorkerConnection): void {
    this.#noteStarts(lane);
    this.serving.delete(lane);
    this.leaving.add(lane);
  }

  remove(lane: WorkerConnection): void {
    this.#noteStarts(lane);
    this.serving.delete(lane);
    this.leaving.delete(lane);
  }

  /** The lane that has a call or an inspection. */
  laneOf(run: number): WorkerConnection | undefined {
    for (const lanes of [this.serving, this.leaving]) {
      for (const lane of lanes) if (lane.subjectOf(run) !== undefined) return lane;
    }
    return undefined;
  }

  /** Whose a call or an inspection is that a lane may have a turn of, even if nobody waits for it any more. */
  subjectOf(run: number): CallOwner | undefined {
    return this.laneOf(run)?.subjectOf(run);
  }

  noteStats(lane: WorkerConnection, stats: WorkerStats): void {
    if (this.serving.has(lane)) this.#stats.set(lane, stats);
  }

  get workerStats(): Iterable<WorkerStats> {
    return this.#stats.values();
  }

  get pastStarts(): ReadonlyMap<string, number> {
    return this.#pastStarts;
  }

  /** What the isolates of some lanes hold in bytes, with what V8 needs for each, and for a process. */
  knownBytes(lanes: readonly WorkerConnection[]): number {
    let bytes = PROCESS_BYTES;
    for (const lane of lanes) {
      const stats = this.#stats.get(lane);
      if (stats === undefined) continue;
      bytes += (stats.active + stats.warm + stats.blank) * ISOLATE_BYTES;
      for (const heapBytes of Object.values(stats.heapBytes)) bytes += heapBytes;
    }
    return bytes;
  }

  #noteStarts(lane: WorkerConnection): void {
    const starts = this.#stats.get(lane)?.starts ?? {};
    this.#stats.delete(lane);
    for (const [kind, count] of Object.entries(starts)) {
      this.#pastStarts.set(kind, (this.#pastStarts.get(kind) ?? 0) + count);
    }
  }
}

/** Sums up what workers last told of themselves. */
export function sumUp(rosters: readonly WorkerRegistry[]): Pick<ExecutorStats, "isolates" | "starts" | "heapBytes"> {
  const isolates = { active: 0, warm: 0, blank: 0 };
  const starts = new Map<string, number>();
  const heapBytes = new Map<string, number>();
  const add = (totals: Map<string, number>, key: string, count: number) => {
    totals.set(key, (totals.get(key) ?? 0) + count);
  };
  for (const roster of rosters) {
    for (const [kind, count] of roster.pastStarts) add(starts, kind, count);
    for (const stats of roster.workerStats) {
      isolates.active += stats.active;
      isolates.warm += stats.warm;
      isolates.blank += stats.blank;
      for (const [kind, count] of Object.entries(stats.starts)) add(starts, kind, count);
      for (const [tool, bytes] of Object.entries(stats.heapBytes)) add(heapBytes, tool, bytes);
    }
  }
  return { isolates, starts, heapBytes };
}
