import type { Dispatcher } from "./dispatcher.ts";
import type { ExecutorStats } from "./executor.ts";

/** Sums up what the workers behind some dispatchers last told of themselves. */
export function collectStats(
  dispatchers: readonly Dispatcher[],
  rssBytes: number,
  ready: boolean,
  quarantined: readonly string[],
): ExecutorStats {
  const isolates = { active: 0, warm: 0, blank: 0 };
  const starts = new Map<string, number>();
  const heapBytes = new Map<string, number>();
  const add = (totals: Map<string, number>, key: string, count: number) => {
    totals.set(key, (totals.get(key) ?? 0) + count);
  };
  for (const dispatcher of dispatchers) {
    for (const [kind, count] of dispatcher.pastStarts) add(starts, kind, count);
    for (const stats of dispatcher.workerStats) {
      isolates.active += stats.active;
      isolates.warm += stats.warm;
      isolates.blank += stats.blank;
      for (const [kind, count] of Object.entries(stats.starts)) add(starts, kind, count);
      for (const [tool, bytes] of Object.entries(stats.heapBytes)) add(heapBytes, tool, bytes);
    }
  }
  return { isolates, starts, heapBytes, rssBytes, ready, quarantined };
}
