import { expect, test } from "vitest";
import { machineInfo, type MachineStats } from "../../../src/fleet/machine/machine-stats.ts";

const STATS: MachineStats = {
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

/** Found by the table of faults: a server was ready, and 503 again a second later, when Redis took writes once more. */
test("the first heartbeat after an outage of Redis does not say that the machine is not ready", () => {
  const told = (stats: Partial<MachineStats>) => JSON.parse(machineInfo({ ...STATS, ...stats }, [3], 1)) as object;
  expect(told({ isReady: false, isRedisUp: false })).toMatchObject({ isReady: true });
  expect(told({ isReady: false, isDraining: true })).toMatchObject({ isReady: false });
  expect(told({ isReady: false, executor: { ...STATS.executor, ready: false } })).toMatchObject({ isReady: false });
});
