import type { WorkerConnection } from "./worker-connection.ts";
import type { ToolQueue } from "./tool-queue.ts";

/** Time to create an isolate and load a tool into it, in milliseconds. */
const WARM_UP_MS = 5;
/** The same with the start of an interpreter. */
const INTERPRETED_WARM_UP_MS = 100;

/** Other conditions of a place. */
export interface PlacementTerms {
  /**
   * Connections that get no more work until they are idle, for a call that needs one alone: short calls do not keep it
   * busy for ever.
   */
  readonly held: WorkerConnection[];
  /** Whether slow calls leave a worker free for quick ones. */
  readonly isReserved: boolean;
}

/**
 * The connection on which the next calls of a queue start soonest. The warm-up time counts less the more calls of the
 * tool wait. `null` if they should wait: the connection has no room, or slow calls would occupy all workers while one
 * is reserved.
 */
export function placeQueue(
  connections: ReadonlySet<WorkerConnection>,
  queue: ToolQueue,
  nowMs: number,
  { held, isReserved }: PlacementTerms,
): WorkerConnection | null {
  const { turnTime, script, home } = queue;
  const fullMs = script.isInterpreted === true ? INTERPRETED_WARM_UP_MS : WARM_UP_MS;
  const warmUpMs = Math.max(0, fullMs - queue.expectedMs);
  const best = soonest(connections, nowMs, (connection) => (connection.isWarm(home) ? 0 : warmUpMs));
  if (best === null || (turnTime.isSlow && isReserved && !leavesOneFree(connections, nowMs))) return null;
  const isLong = turnTime.isLong || queue.isNextAlone;
  if (!held.includes(best) && best.hasRoom(isLong)) return best;
  // The call needs the worker alone: no more work goes there until it is idle.
  if (isLong) held.push(best);
  return null;
}

/** The connection for an inspection, which takes no long turn. */
export function place(connections: ReadonlySet<WorkerConnection>, nowMs: number): WorkerConnection | null {
  const best = soonest(connections, nowMs, () => 0);
  return best !== null && best.hasRoom(false) ? best : null;
}

function soonest(
  connections: ReadonlySet<WorkerConnection>,
  nowMs: number,
  extraMs: (connection: WorkerConnection) => number,
): WorkerConnection | null {
  let best: WorkerConnection | null = null;
  let leastMs = Infinity;
  for (const connection of connections) {
    const startMs = connection.waitMs(nowMs) + extraMs(connection);
    if (startMs >= leastMs) continue;
    best = connection;
    leastMs = startMs;
  }
  return best;
}

/** Whether one more slow call leaves a worker free for others. A single worker cannot be left free. */
function leavesOneFree(connections: ReadonlySet<WorkerConnection>, nowMs: number): boolean {
  if (connections.size === 1) return true;
  let slow = 0;
  for (const connection of connections) if (connection.isSlow(nowMs)) slow++;
  return slow + 1 < connections.size;
}
