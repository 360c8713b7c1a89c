import type { NodeModule } from "./inner/library.ts";

/** `node:v8`: sizes are not told. */
const none = (): object => ({ total_heap_size: 0, used_heap_size: 0, heap_size_limit: 0, total_available_size: 0, malloced_memory: 0, peak_malloced_memory: 0 });

export const shared: NodeModule = {
  getHeapStatistics: none,
  getHeapSpaceStatistics: () => [],
  getHeapCodeStatistics: none,
  cachedDataVersionTag: () => 0,
  setFlagsFromString: () => undefined,
};
