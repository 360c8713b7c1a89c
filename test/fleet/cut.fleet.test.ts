import { expect, test } from "vitest";
import { Dice, seedOf } from "../load/dice.ts";
import { startRedis } from "../redis-server.ts";
import { POLL, startMachineProcess } from "./fleet.ts";
import { canUseNetworks, createNetwork } from "./network.ts";
import { SteadyLoad } from "./steady-load.ts";
import { watchFleet } from "./watched-fleet.ts";

const MACHINE = { slots: 8, workers: 1 };

const reason = canUseNetworks();

test.skipIf(reason !== null)(
  `every call settles once and every effect comes once while a machine is cut off${reason === null ? "" : `: ${reason}`}`,
  { timeout: 240_000 },
  async () => {
    const seed = seedOf(undefined);
    await using network = await createNetwork();
    const hosts = [await network.host("one"), await network.host("two")] as const;
    await using redis = await startRedis({ host: network.address });
    await using one = await startMachineProcess(redis.url, "test", { ...MACHINE, within: hosts[0].within });
    await using two = await startMachineProcess(redis.url, "test", { ...MACHINE, within: hosts[1].within });
    const fleet = { url: redis.url, name: "test", machines: [one, two] };
    await using watch = watchFleet(fleet);
    await using load = await SteadyLoad.start({ url: redis.url, fleet: "test", dice: new Dice(seed) });
    const machines = async (isBusy = false) =>
      (await watch.machines()).filter(({ busySlots }) => !isBusy || busySlots > 0).map(({ id }) => id);
    // The tools are registered by then, so what a machine is busy with are calls.
    await expect.poll(() => load.ended, POLL).toBeGreaterThan(100);
    await expect.poll(() => machines(true), POLL).toContain(one.id);
    await hosts[0].cut();
    await expect.poll(() => machines(), POLL).toEqual([two.id]);
    // The other one has its jobs once their locks have expired.
    await expect.poll(() => load.startedAgain, POLL).toBeGreaterThan(0);
    const endedMeanwhile = load.ended;
    await expect.poll(() => load.ended, POLL).toBeGreaterThan(endedMeanwhile + 50);
    await hosts[0].mend();
    // Both have work again.
    await expect.poll(() => machines(true), POLL).toContain(one.id);
    const ended = load.ended;
    await expect.poll(() => load.ended, POLL).toBeGreaterThan(ended + 50);
    const report = await load.end();
    expect({ seed, violations: report.violations }).toEqual({ seed, violations: [] });
  },
);
