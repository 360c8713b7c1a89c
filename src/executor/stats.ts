import type { ExecutorStats } from "./executor.ts";
import type { WorkerRegistry } from "./dispatch/worker-registry.ts";

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
