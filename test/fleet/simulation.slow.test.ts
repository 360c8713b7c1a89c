import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { at, costsOf, type Costs, fit } from "../../bench/fleet/costs.ts";
import { type CallKind, type Fleet, fleetOf, MIXES, type Mix } from "../../bench/fleet/mixes.ts";
import { boundsOf, callCost, machinesPerRedis, nothingShared } from "../../bench/fleet/model.ts";
import { type Settings, simulate } from "../../bench/fleet/simulate.ts";
import { EventLoop, Station, Timeline } from "../../bench/fleet/timeline.ts";
import { randomFrom } from "../../bench/open-loop.ts";

const fixedCost = (us: number) => ({
  redisUs: { fixed: us, each: us / 20 },
  clientUs: { fixed: us / 2, each: 0 },
  wireBytes: { fixed: 500, each: 1_000 },
});

/** About what a Redis takes of a processor of today. */
const COSTS: Costs = costsOf({
  gate: fixedCost(15),
  add: fixedCost(40),
  wake: fixedCost(20),
  take: fixedCost(35),
  takeNothing: fixedCost(15),
  note: fixedCost(10),
  finish: fixedCost(30),
  renew: fixedCost(12),
  mail: fixedCost(20),
  beat: fixedCost(10),
});

const TOOL: CallKind = {
  share: 1,
  serviceMs: 10,
  spread: "exponential",
  isShort: false,
  asks: 0,
  inKb: 0.1,
  outKb: 0.1,
};
const FREE_FLEET: Fleet = {
  ...fleetOf(1),
  servers: 1,
  networkMs: 0,
  serverCallUs: 0,
  beatMs: Infinity,
};

function settings(changes: Partial<Settings>): Settings {
  return {
    fleet: FREE_FLEET,
    mix: { name: "test", kinds: [TOOL], burst: 1, slots: 1 },
    costs: costsOf({}),
    load: { kind: "open", callsPerSecond: 50 },
    warmUpMs: 1_000,
    windowMs: 10_000,
    seed: 7,
    ...changes,
  };
}

function mixOf(name: string): Mix {
  const mix = MIXES.find((each) => each.name === name);
  if (mix === undefined) throw new RangeError(`there is no mix "${name}"`);
  return mix;
}

/** A closed load that is more than the fleet can bear. */
function saturated(fleet: Fleet, mix: Mix, callers: number, windowMs = 3_000): Settings {
  return settings({
    fleet,
    mix,
    costs: COSTS,
    load: { kind: "closed", callers },
    warmUpMs: windowMs / 2,
    windowMs,
  });
}

/** Erlang's C: the share of those who have to wait, by the load in servers. */
function erlangC(servers: number, load: number): number {
  let blocked = 1;
  for (let nth = 1; nth <= servers; nth++) blocked = (load * blocked) / (nth + load * blocked);
  return blocked / (1 - (load / servers) * (1 - blocked));
}

/** Mean wait in a line with one who serves, by simulation. */
function meanWaitMs(load: number, serviceMs: (random: () => number) => number): number {
  const random = randomFrom(11);
  const timeline = new Timeline();
  const station = new Station(timeline);
  let [waitedMs, served] = [0, 0];
  const arrive = (): void => {
    const arrivedMs = timeline.nowMs;
    const ms = serviceMs(random);
    station.serve(ms, () => {
      waitedMs += timeline.nowMs - arrivedMs - ms;
      served++;
    });
    if (served < 200_000) timeline.after(-Math.log1p(-random()) / load, arrive);
  };
  arrive();
  timeline.run();
  return waitedMs / served;
}

describe("a station", () => {
  test.each([0.3, 0.6, 0.8])("has the line of M/M/1 at a load of %d", (load) => {
    const wait = meanWaitMs(load, (random) => -Math.log1p(-random()));
    expect(wait / (load / (1 - load))).toBeCloseTo(1, 1);
  });

  test.each([0.3, 0.6, 0.8])(
    "has half of that line where all are served alike, as M/D/1 has, at a load of %d",
    (load) => {
      expect(meanWaitMs(load, () => 1) / (load / (2 * (1 - load)))).toBeCloseTo(1, 1);
    },
  );

  test("was busy for as long as it served, and not for what it will serve", () => {
    const timeline = new Timeline();
    const station = new Station(timeline);
    const seen: number[] = [];
    timeline.at(10, () => {
      station.serve(4);
      station.serve(4);
    });
    for (const ms of [9, 12, 18, 30]) timeline.at(ms, () => seen.push(station.busyMs));
    timeline.run();
    expect(seen).toEqual([0, 2, 8, 8]);
  });
});

describe("an event loop", () => {
  test("lets one who comes alone wait for nobody, and ends in one turn what came during the last", () => {
    const timeline = new Timeline();
    const turns: number[][] = [];
    let turn: number[] = [];
    const loop = new EventLoop(timeline, () => {
      turns.push(turn);
      turn = [];
    });
    const post = (nth: number) => loop.post(2, () => turn.push(nth));
    timeline.at(1, () => post(1));
    for (const nth of [2, 3, 4]) timeline.at(2, () => post(nth));
    timeline.run();
    expect(turns).toEqual([[1], [2, 3, 4]]);
    expect(timeline.nowMs).toBe(9);
  });
});

describe("a fleet whose Redis and network take no time", () => {
  test.each([
    { machines: 1, slots: 1, load: 0.5 },
    { machines: 1, slots: 1, load: 0.8 },
    { machines: 1, slots: 5, load: 0.8 },
    { machines: 4, slots: 2, load: 0.7 },
  ])("waits as M/M/c says: $machines machines of $slots slots at a load of $load", ({ machines, slots, load }) => {
    const places = machines * slots;
    const callsPerSecond = (load * places * 1_000) / TOOL.serviceMs;
    const { waitMeanMs, slotsBusy, ...outcome } = simulate(
      settings({
        fleet: { ...FREE_FLEET, machines },
        mix: { name: "test", kinds: [TOOL], burst: 1, slots },
        load: { kind: "open", callsPerSecond },
        windowMs: (100_000 * 1_000) / callsPerSecond,
      }),
    );
    const expectedMs = (erlangC(places, load * places) * TOOL.serviceMs) / (places * (1 - load));
    expect(waitMeanMs / expectedMs).toBeCloseTo(1, 1);
    expect(slotsBusy).toBeCloseTo(load, 1);
    expect(outcome.callsPerSecond / callsPerSecond).toBeCloseTo(1, 1);
  });
});

describe("a simulated fleet", () => {
  const busy = saturated(fleetOf(12), mixOf("agents"), 300, 500);

  test("has the same outcome for the same seed, and another one for another", () => {
    expect(simulate(busy)).toEqual(simulate(busy));
    expect(simulate({ ...busy, seed: 8 })).not.toEqual(simulate(busy));
  });

  test("settles every call that entered exactly once, whatever the fleet", () => {
    fc.assert(
      fc.property(
        fc.record({
          mix: fc.constantFrom(...MIXES),
          machines: fc.integer({ min: 4, max: 20 }),
          servers: fc.integer({ min: 1, max: 5 }),
          shards: fc.constantFrom(1, 2, 4),
          networkMs: fc.constantFrom(0, 0.2, 3),
          batchMax: fc.integer({ min: 1, max: 64 }),
          callers: fc.integer({ min: 1, max: 100 }),
          isOpen: fc.boolean(),
          seed: fc.integer(),
        }),
        ({ mix, machines, servers, shards, networkMs, batchMax, callers, isOpen, seed }) => {
          const { entered, settled, settledTwice, sharing } = simulate({
            ...saturated({ ...fleetOf(machines, shards), servers, networkMs, batchMax }, mix, callers, 200),
            ...(isOpen ? { load: { kind: "open", callsPerSecond: 10_000 + callers * 100 } } : {}),
            seed,
          });
          expect({ settled, settledTwice }).toEqual({ settled: entered, settledTwice: 0 });
          expect(entered).toBeGreaterThan(0);
          expect(sharing.callsPerJob).toBeLessThanOrEqual(batchMax);
        },
      ),
      { numRuns: 40 },
    );
  });

  test.each(MIXES.map(({ name }) => name))("never does more than its slowest stage can bear: %s", (name) => {
    const mix = mixOf(name);
    const windowMs = Math.max(500, ...mix.kinds.map(({ serviceMs }) => 3 * serviceMs));
    for (const machines of [4, 40]) {
      const fleet = fleetOf(machines);
      const { callsPerSecond, sharing, ...outcome } = simulate(saturated(fleet, mix, 2_000 / mix.burst, windowMs));
      const bounds = boundsOf(COSTS, mix, { ...fleet, blockMs: Infinity }, sharing);
      // The bounds go by the mean service time, and a run of so many calls comes that near to it.
      expect(callsPerSecond).toBeLessThanOrEqual(1.05 * bounds.callsPerSecond);
      const shares = [outcome.redisBusiest, outcome.slotsBusy, outcome.serversBusy, outcome.machinesBusy];
      expect(Math.max(...shares)).toBeLessThanOrEqual(1 + 1e-9);
    }
  });

  test("does what the formulas say where Redis is the limit", () => {
    const fleet = fleetOf(60);
    const { callsPerSecond, redisBusy, sharing } = simulate(saturated(fleet, mixOf("medium"), 1_000));
    const { limit, redis } = boundsOf(COSTS, mixOf("medium"), fleet, sharing);
    expect(limit).toBe("redis");
    expect(redisBusy).toBeGreaterThan(0.98);
    expect(callsPerSecond / redis).toBeGreaterThan(0.97);
  });

  test("does what the formulas say where slots are the limit", () => {
    const fleet = fleetOf(4);
    const { callsPerSecond, slotsBusy, sharing } = simulate(saturated(fleet, mixOf("long"), 2_000, 15_000));
    const { limit, slots } = boundsOf(COSTS, mixOf("long"), fleet, sharing);
    expect(limit).toBe("slots");
    expect(slotsBusy).toBeGreaterThan(0.95);
    expect(callsPerSecond / slots).toBeGreaterThan(0.9);
  });

  test("does twice as much with twice the fleets where Redis is the limit", () => {
    const done = [1, 2, 4].map(
      (shards) => simulate(saturated(fleetOf(120, shards), mixOf("medium"), 1_000 * shards, 800)).callsPerSecond,
    );
    const [one = 0, two = 0, four = 0] = done;
    expect(two / one).toBeGreaterThan(1.8);
    expect(two / one).toBeLessThan(2.2);
    expect(four / two).toBeGreaterThan(1.7);
  });

  test("gains nothing from more fleets where slots are the limit", () => {
    const [one = 0, two = 0] = [1, 2].map(
      (shards) => simulate(saturated(fleetOf(4, shards), mixOf("long"), 2_000, 8_000)).callsPerSecond,
    );
    expect(two / one).toBeLessThan(1.05);
  });

  test("does many times more where a server waits for its last tick's places before it asks for the next ones", () => {
    const fleet = fleetOf(40);
    const [each = 0, waiting = 0] = [Infinity, 1].map(
      (gatesAtOnce) =>
        simulate(saturated({ ...fleet, gatesAtOnce }, mixOf("short, one by one"), 2_000, 1_000)).callsPerSecond,
    );
    expect(waiting).toBeGreaterThan(5 * each);
  });

  test("loses to waking machines and to looking in vain where far too many of them wait", () => {
    const [few = 0, many = 0] = [10, 400].map(
      (machines) => simulate(saturated(fleetOf(machines), mixOf("medium"), 400, 1_000)).callsPerSecond,
    );
    expect(many / few).toBeLessThan(0.85);
    expect(many / few).toBeGreaterThan(0.6);
  });

  test("does more calls through one Redis the more of them share a job", () => {
    const [alone = 0, eight = 0, many = 0] = ["short, one by one", "short, 8 at once", "short, 64 at once"].map(
      (name) => simulate(saturated(fleetOf(100), mixOf(name), 1_500, 1_000)).callsPerSecond,
    );
    expect(eight).toBeGreaterThan(2 * alone);
    expect(many).toBeGreaterThan(2 * eight);
  });
});

describe("the formulas", () => {
  test("find the line through points that lie on one, of whatever sizes", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 1e3, noNaN: true }),
        fc.double({ min: 0, max: 10, noNaN: true }),
        fc.uniqueArray(fc.integer({ min: 0, max: 1_000 }), { minLength: 2, maxLength: 6 }),
        (fixed, each, sizes) => {
          const found = fit(sizes.map((size) => ({ size, value: fixed + each * size })));
          for (const size of sizes) expect(at(found, size) / (fixed + each * size)).toBeCloseTo(1, 4);
        },
      ),
    );
  });

  test("give a call of a job its share of the job's cost, and its own", () => {
    const mix = mixOf("short, 64 at once");
    const fleet = fleetOf(10);
    const [alone, many] = [1, 64].map((calls) => callCost(COSTS, mix, fleet, nothingShared(calls)).redisUs);
    // 15 + 40 + 35 + 10 + 20 + 20 + 30 for the job, and for each call 0.75 at the gate and 0.1 KB four times and a message.
    const ownUs = 0.75 + 0.1 * (2 + 1.75 + 1 + 1.5);
    expect(alone).toBeCloseTo(170.1 + ownUs, 6);
    expect(many).toBeCloseTo(170.1 / 64 + ownUs, 6);
  });

  test("say with how many machines a Redis is full", () => {
    const mix = mixOf("medium");
    const machines = machinesPerRedis(
      COSTS,
      mix,
      { ...fleetOf(1), beatMs: Infinity, blockMs: Infinity },
      nothingShared(1),
    );
    const at90 = boundsOf(COSTS, mix, fleetOf(Math.floor(machines * 0.9)), nothingShared(1));
    const at120 = boundsOf(COSTS, mix, fleetOf(Math.ceil(machines * 1.2)), nothingShared(1));
    expect([at90.limit, at120.limit]).toEqual(["slots", "redis"]);
  });
});
