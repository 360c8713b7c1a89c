import type { MachineStats } from "../../../src/fleet/machine/machine-stats.ts";

/** A machine that is ready, and has nothing to do. */
export const READY: MachineStats = {
  id: "m1",
  isReady: true,
  isDraining: false,
  isRedisUp: true,
  problem: null,
  slots: 8,
  busySlots: 0,
  calls: 0,
  executor: {
    isolates: { active: 0, warm: 0, blank: 0 },
    starts: new Map(),
    heapBytes: new Map(),
    rssBytes: 0,
    ready: true,
    spareReady: true,
    quarantined: [],
    sandbox: { kind: "bubblewrap" },
  },
};
