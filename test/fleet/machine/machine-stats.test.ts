import { expect, test } from "vitest";
import { machineInfo, type MachineStats } from "../../../src/fleet/machine/machine-stats.ts";
import { READY } from "./ready-machine.ts";

/** Found by the table of faults: a server was ready, and 503 again a second later, when Redis took writes once more. */
test("the first heartbeat after an outage of Redis does not say that the machine is not ready", () => {
  const told = (stats: Partial<MachineStats>) => JSON.parse(machineInfo({ ...READY, ...stats }, [3], 1)) as object;
  expect(told({ isReady: false, isRedisUp: false })).toMatchObject({ isReady: true });
  expect(told({ isReady: false, isDraining: true })).toMatchObject({ isReady: false });
  expect(told({ isReady: false, executor: { ...READY.executor, ready: false } })).toMatchObject({ isReady: false });
});
