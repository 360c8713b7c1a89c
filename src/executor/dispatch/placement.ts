import type { WorkerConnection } from "./worker-connection.ts";
import type { ToolQueue } from "./tool-queue.ts";

/** What it takes to make an isolate and load a tool into it, in milliseconds. */
const WARM_UP_MS = 5;
/** An interpreter has to start as well. */
const PYTHON_WARM_UP_MS = 100;

/**
 * The lane for the next calls of a line: where they will have started soonest, counting what warming up would take.
 * That is worth less the more calls of the tool wait. `null` where they had better wait: the lane has no room, or
 * slow calls would have all lanes and short ones none. What needs a lane whole has it `held`, so that those that need
 * less do not keep it from ever being empty.
 */
export function placeLine(
  lanes: ReadonlySet<WorkerConnection>,
  line: ToolQueue,
  nowMs: number,
  held: Set<WorkerConnection>,
): WorkerConnection | null {
  const { pace, script, tenant } = line;
  const fullMs = script.runtime === "python" ? PYTHON_WARM_UP_MS : WARM_UP_MS;
  const warmUpMs = Math.max(0, fullMs - line.expectedMs);
  const best = soonest(lanes, nowMs, (lane) => (lane.isWarm(script.key, tenant) ? 0 : warmUpMs));
  if (best === null || (pace.isSlow && !leavesOneFree(lanes, nowMs))) return null;
  const isLong = pace.isLong || line.isNextAlone;
  if (!held.has(best) && best.hasRoom(isLong)) return best;
  // It needs the lane for itself: nothing more goes there until it has emptied.
  if (isLong) held.add(best);
  return null;
}

/** The lane for something else than calls, which takes no long turn. */
export function place(lanes: ReadonlySet<WorkerConnection>, nowMs: number): WorkerConnection | null {
  const best = soonest(lanes, nowMs, () => 0);
  return best !== null && best.hasRoom(false) ? best : null;
}

function soonest(
  lanes: ReadonlySet<WorkerConnection>,
  nowMs: number,
  extraMs: (lane: WorkerConnection) => number,
): WorkerConnection | null {
  let best: WorkerConnection | null = null;
  let leastMs = Infinity;
  for (const lane of lanes) {
    const startMs = lane.waitMs(nowMs) + extraMs(lane);
    if (startMs >= leastMs) continue;
    best = lane;
    leastMs = startMs;
  }
  return best;
}

/** Whether one more slow call leaves a lane to the others. A single lane cannot be left free. */
function leavesOneFree(lanes: ReadonlySet<WorkerConnection>, nowMs: number): boolean {
  if (lanes.size === 1) return true;
  let slow = 0;
  for (const lane of lanes) if (lane.isSlow(nowMs)) slow++;
  return slow + 1 < lanes.size;
}
