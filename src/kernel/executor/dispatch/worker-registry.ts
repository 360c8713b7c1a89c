import type { WorkerStats } from "../../base/protocol/messages.ts";
import type { CallOwner, WorkerConnection } from "./worker-connection.ts";
import type { ExecutorStats } from "../executor.ts";

const MIB = 1024 * 1024;
/** Memory of a process with its threads, and of an isolate besides its used heap. */
const PROCESS_BYTES = 128 * MIB;
const ISOLATE_BYTES = 10 * MIB;

/** The connections of a dispatcher, and the statistics of their workers. */
export class WorkerRegistry {
  /** Connections that get calls. */
  readonly serving = new Set<WorkerConnection>();
  /** Connections that get no more calls and still have some. */
  readonly leaving = new Set<WorkerConnection>();
  readonly #stats = new Map<WorkerConnection, WorkerStats>();
  /** Numbers of isolates and contexts started by workers of closed connections. */
  readonly #pastStarts = new Map<string, number>();

  retire(connection: WorkerConnection): void {
    this.#recordStarts(connection);
    this.serving.delete(connection);
    this.leaving.add(connection);
  }

  remove(connection: WorkerConnection): void {
    this.#recordStarts(connection);
    this.serving.delete(connection);
    this.leaving.delete(connection);
  }

  /** The connection of a call or an inspection. */
  connectionOf(callNumber: number): WorkerConnection | undefined {
    for (const connections of [this.serving, this.leaving]) {
      for (const connection of connections) if (connection.ownerOf(callNumber) !== undefined) return connection;
    }
    return undefined;
  }

  /** The owner of a call or an inspection that may have a turn, even after it was settled. */
  ownerOf(callNumber: number): CallOwner | undefined {
    return this.connectionOf(callNumber)?.ownerOf(callNumber);
  }

  recordStats(connection: WorkerConnection, stats: WorkerStats): void {
    if (this.serving.has(connection)) this.#stats.set(connection, stats);
  }

  get workerStats(): Iterable<WorkerStats> {
    return this.#stats.values();
  }

  get pastStarts(): ReadonlyMap<string, number> {
    return this.#pastStarts;
  }

  /** Bytes in the isolates of some connections, including V8's overhead for each and that of a process. */
  knownBytes(connections: readonly WorkerConnection[]): number {
    let bytes = PROCESS_BYTES;
    for (const connection of connections) {
      const stats = this.#stats.get(connection);
      if (stats === undefined) continue;
      bytes += (stats.active + stats.warm + stats.blank) * ISOLATE_BYTES;
      for (const heapBytes of Object.values(stats.heapBytes)) bytes += heapBytes;
    }
    return bytes;
  }

  #recordStarts(connection: WorkerConnection): void {
    const starts = this.#stats.get(connection)?.starts ?? {};
    this.#stats.delete(connection);
    for (const [kind, count] of Object.entries(starts)) {
      this.#pastStarts.set(kind, (this.#pastStarts.get(kind) ?? 0) + count);
    }
  }
}

/** Sums up the latest statistics of all workers. */
export function sumStats(rosters: readonly WorkerRegistry[]): Pick<ExecutorStats, "isolates" | "starts" | "heapBytes"> {
  const isolates = { active: 0, warm: 0, blank: 0 };
  const starts = new Map<string, number>();
  const heapBytes = new Map<string, number>();
  const add = (totals: Map<string, number>, key: string, count: number) => {
    totals.set(key, (totals.get(key) ?? 0) + count);
  };
  for (const workers of rosters) {
    for (const [kind, count] of workers.pastStarts) add(starts, kind, count);
    for (const stats of workers.workerStats) {
      isolates.active += stats.active;
      isolates.warm += stats.warm;
      isolates.blank += stats.blank;
      for (const [kind, count] of Object.entries(stats.starts)) add(starts, kind, count);
      for (const [tool, bytes] of Object.entries(stats.heapBytes)) add(heapBytes, tool, bytes);
    }
  }
  return { isolates, starts, heapBytes };
}
