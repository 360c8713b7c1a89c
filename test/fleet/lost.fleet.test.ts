import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { defineCapability, type Engine, type EngineOptions, type ToolResult } from "../../src/glovebox/index.ts";
import { Dice } from "../load/dice.ts";
import {
  createFleetEngine,
  type MachineProcess,
  type MachineSettings,
  POLL,
  startFleet,
  TIMINGS,
  type TestFleet,
} from "./fleet.ts";
import { SteadyLoad } from "./steady-load.ts";
import { type FleetWatch, watchFleet } from "./watched-fleet.ts";

const SERVER = new URL("./programs/server.ts", import.meta.url).pathname;
const LOST_MS = 5_000;
/** Far less than all that calls may take, and far more than a busy machine needs. */
const SOON_MS = 30_000;
/** In about this time another machine takes the jobs of one that is lost. */
const LONG_MS = TIMINGS.lockMs + 2 * TIMINGS.stalledMs;
const MACHINE: MachineSettings = { slots: 4, workers: 1 };

interface Served extends AsyncDisposable {
  readonly engine: Engine;
  /** The steps that had an effect, in their order. */
  readonly effects: number[];
}

async function serve(
  { url, name }: TestFleet,
  lostMs = 10_000,
  queue: EngineOptions["queue"] = {},
  queueMs = 100_000,
): Promise<Served> {
  const effects: number[] = [];
  const add = ({ step }: { readonly step: number }) => effects.push(step);
  const engine = await createFleetEngine({
    executor: { kind: "queue", url, fleet: name, lostMs },
    queue,
    limits: { wallMs: 100_000, queueMs },
    capabilities: [defineCapability({ name: "ledger", methods: { add: { handler: add } } })],
    policy: { rules: [{ tools: ["*"], allow: { ledger: true } }] },
    tools: [
      { name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b;" },
      {
        name: "sleep",
        description: "Has no effect.",
        source: "export default () => new Promise((done) => setTimeout(done, 95_000));",
      },
      {
        name: "walk",
        description: "Takes steps that have an effect.",
        capabilities: { ledger: true },
        source: `export default async ({ steps, ms }, { host }) => {
          for (let step = 0; step < steps; step++) {
            await host.ledger.add({ step });
            await new Promise((done) => setTimeout(done, ms));
          }
          return steps;
        };`,
      },
    ],
  });
  return { engine, effects, [Symbol.asyncDispose]: () => engine.close({ drainMs: 0 }) };
}

const add = (engine: Engine): Promise<ToolResult> => engine.execute({ name: "add", arguments: { a: 1, b: 2 } });
const walk = (engine: Engine, steps: number, ms: number): Promise<ToolResult> =>
  engine.execute({ name: "walk", arguments: { steps, ms } });

/** What machines say of themselves may be of a second ago, when tools were registered. */
async function untilIdle(watch: FleetWatch): Promise<void> {
  await expect.poll(() => watch.busy(), POLL).toBeUndefined();
}

/** The machine that has the only call. */
async function untilBusy(watch: FleetWatch): Promise<MachineProcess> {
  await expect.poll(() => watch.busy(), POLL).toBeDefined();
  const machine = await watch.busy();
  if (machine === undefined) throw new Error("the call has ended");
  return machine;
}

const steps = (count: number): number[] => Array.from({ length: count }, (_, step) => step);

describe("a Redis that is lost", { timeout: 240_000 }, () => {
  test("ends all calls, tells those that come, and is used again when it is back", async () => {
    await using fleet = await startFleet(2, MACHINE);
    await using served = await serve(fleet, LOST_MS);
    const { engine } = served;
    const under = [engine.execute({ name: "sleep", arguments: {} }), walk(engine, 1_000, 90)];
    await expect.poll(() => served.effects.length, POLL).toBeGreaterThan(3);
    await fleet.redis.stop("SIGKILL");
    const ended = await Promise.race([Promise.all(under), delay(SOON_MS, null)]);
    const lost = { code: "executor_lost", retryable: true };
    // What has had an effect is not simply to be done again.
    expect(ended).toMatchObject([{ error: lost }, { error: { code: "executor_lost", retryable: false } }]);
    expect(await Promise.race([add(engine), delay(SOON_MS, null)])).toMatchObject({ error: lost });
    expect(engine.stats().executor.ready).toBe(false);
    await fleet.redis.start();
    await expect.poll(() => engine.stats().executor.ready, POLL).toBe(true);
    expect(await add(engine)).toMatchObject({ output: 3 });
    expect(await walk(engine, 3, 1)).toMatchObject({ output: 3 });
    expect(fleet.machines.map(({ process }) => process.exitCode)).toEqual([null, null]);
  });

  test("brings back a call that came while it was away", async () => {
    await using fleet = await startFleet(1, MACHINE);
    await using served = await serve(fleet);
    await add(served.engine);
    await fleet.redis.stop("SIGTERM");
    const waiting = add(served.engine);
    await delay(500);
    await fleet.redis.start();
    expect(await waiting).toMatchObject({ output: 3 });
  });

  test("keeps neither a server nor a machine from ending", async () => {
    await using fleet = await startFleet(1, { ...MACHINE, drainMs: 500 });
    await using served = await serve(fleet);
    const { engine } = served;
    const under = walk(engine, 2, 60_000);
    await expect.poll(() => served.effects.length, POLL).toBe(1);
    await fleet.redis.stop("SIGKILL");
    const ends = Promise.all([engine.close({ drainMs: 0 }), fleet.machines[0]?.end("SIGTERM"), under]);
    const [, code, result] = (await Promise.race([ends, delay(SOON_MS, null)])) ?? [];
    expect(code).toBe(0);
    expect(result).toMatchObject({ error: { code: "engine_closed" } });
  });

  test("may be silent for a while, and no call ends by it", async () => {
    await using fleet = await startFleet(2, MACHINE);
    await using load = await SteadyLoad.start({ url: fleet.url, fleet: fleet.name, dice: new Dice(3) });
    await expect.poll(() => load.ended, POLL).toBeGreaterThan(20);
    fleet.redis.signal("SIGSTOP");
    await delay(3 * TIMINGS.beatMs);
    fleet.redis.signal("SIGCONT");
    const ended = load.ended;
    await expect.poll(() => load.ended, POLL).toBeGreaterThan(ended + 20);
    expect(await load.end()).toMatchObject({ violations: [] });
  });

  test("is as one that is gone where it says nothing for long", async () => {
    await using fleet = await startFleet(1, MACHINE);
    await using served = await serve(fleet, LOST_MS);
    const { engine } = served;
    const under = engine.execute({ name: "sleep", arguments: {} });
    await expect.poll(() => engine.stats().running, POLL).toBe(1);
    fleet.redis.signal("SIGSTOP");
    try {
      const ended = await Promise.race([under, delay(2 * SOON_MS, null)]);
      expect(ended).toMatchObject({ error: { code: "executor_lost", retryable: true } });
      expect(await Promise.race([add(engine), delay(SOON_MS, null)])).toMatchObject({
        error: { code: "executor_lost" },
      });
    } finally {
      fleet.redis.signal("SIGCONT");
    }
    await expect.poll(() => engine.stats().executor.ready, POLL).toBe(true);
    expect(await add(engine)).toMatchObject({ output: 3 });
  });

  test("is full, and both a call that runs and one that comes end by it and say so", async () => {
    await using fleet = await startFleet(1, MACHINE);
    await using watch = watchFleet(fleet);
    await using served = await serve(fleet, LOST_MS, {}, 2_000);
    const { engine } = served;
    const under = walk(engine, 2, 10 * TIMINGS.silentMs);
    await expect.poll(() => served.effects.length, POLL).toBe(1);
    await watch.connection.client.config("SET", "maxmemory", "1");
    const message = expect.stringContaining("its maxmemory is reached (OOM)");
    expect(await add(engine)).toMatchObject({ error: { message, retryable: true } });
    expect(await under).toMatchObject({ error: { code: "executor_lost", message } });
    await watch.connection.client.config("SET", "maxmemory", "0");
    await expect.poll(() => engine.stats().executor.ready, POLL).toBe(true);
    expect(await add(engine)).toMatchObject({ output: 3 });
  });

  test("may forget a call that goes on, and it ends once where it is sent to the same machine again", async () => {
    await using fleet = await startFleet(1, MACHINE);
    await using watch = watchFleet(fleet);
    await using served = await serve(fleet);
    // So silent a call is missed, and has another step before it as the one that was sent again.
    const under = walk(served.engine, 2, 3 * TIMINGS.silentMs);
    await expect.poll(() => served.effects.length, POLL).toBe(1);
    await watch.connection.client.flushall();
    expect(await under).toMatchObject({ output: 2 });
    expect(served.effects).toEqual([0, 1]);
  });

  test("may forget all that it had, and every call ends as it should", async () => {
    await using fleet = await startFleet(2, MACHINE);
    await using watch = watchFleet(fleet);
    await using load = await SteadyLoad.start({ url: fleet.url, fleet: fleet.name, dice: new Dice(4), isLossy: true });
    for (let times = 0; times < 3; times++) {
      const ended = load.ended;
      await expect.poll(() => load.ended, POLL).toBeGreaterThan(ended + 20);
      await watch.connection.client.flushall();
    }
    expect(await load.end()).toMatchObject({ violations: [] });
  });
});

describe("letters that are lost", { timeout: 240_000 }, () => {
  test("are missed: every call ends as it should, and no effect comes twice", async () => {
    await using fleet = await startFleet(2, MACHINE);
    await using watch = watchFleet(fleet);
    await using load = await SteadyLoad.start({ url: fleet.url, fleet: fleet.name, dice: new Dice(5), isLossy: true });
    let lost = 0;
    for (let times = 0; times < 6; times++) {
      const ended = load.ended;
      await expect.poll(() => load.ended, POLL).toBeGreaterThan(ended + 20);
      lost += await watch.loseLetters();
    }
    expect(await load.end()).toMatchObject({ violations: [] });
    expect(lost).toBeGreaterThan(0);
  });
});

/** A server in a process of its own, from when one of its calls that never end runs until it is killed. */
async function killServer(options: object, whileItRuns = async (): Promise<void> => undefined): Promise<void> {
  const args = ["--no-warnings", SERVER, JSON.stringify(options)];
  const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    await once(server.stdout, "data");
    await whileItRuns();
  } finally {
    server.kill("SIGKILL");
  }
}

describe("a server that is lost", { timeout: 240_000 }, () => {
  test("is missed by the machines: its calls end, those that wait are dropped, and others find room", async () => {
    await using fleet = await startFleet(1, { slots: 2, workers: 1 });
    await using watch = watchFleet(fleet);
    await killServer({ url: fleet.url, fleet: fleet.name, calls: 20 });
    expect(await watch.jobs()).toBeGreaterThan(0);
    const isolates = async () =>
      (await watch.machines()).map(({ busySlots, isolates }) => [busySlots, isolates.active]);
    await expect.poll(isolates, POLL).toEqual([[0, 0]]);
    await expect.poll(() => watch.jobs(), POLL).toBe(0);
    await using served = await serve(fleet);
    expect(await add(served.engine)).toMatchObject({ output: 3 });
  });

  test("keeps its room at a cap as long as its calls take it up", async () => {
    await using fleet = await startFleet(1, { slots: 6, workers: 1 });
    await using watch = watchFleet(fleet);
    await using served = await serve(fleet, 10_000, { perTenant: 2 });
    const busy = async (): Promise<number> =>
      (await watch.machines()).reduce((sum, { busySlots }) => sum + busySlots, 0);
    await untilIdle(watch);
    const options = { url: fleet.url, fleet: fleet.name, calls: 2, queue: { perTenant: 2 } };
    await killServer(options, () => expect.poll(busy, POLL).toBe(2));
    // They wait for the room of those that the lost one has left.
    const mine = [1, 2].map(() => walk(served.engine, 3, TIMINGS.lookMs));
    const seen: number[] = [];
    const look = async (): Promise<number> => {
      seen.push(await busy());
      return served.effects.length;
    };
    await expect.poll(look, POLL).toBe(6);
    expect(await Promise.all(mine)).toMatchObject([{ output: 3 }, { output: 3 }]);
    expect(Math.max(...seen)).toBe(2);
  });
});

describe("a machine that is lost", { timeout: 240_000 }, () => {
  test("and comes back finds its call with another, and no effect comes twice", async () => {
    await using fleet = await startFleet(2, MACHINE);
    await using watch = watchFleet(fleet);
    await using served = await serve(fleet);
    await untilIdle(watch);
    const walking = walk(served.engine, 30, LONG_MS / 15);
    const machine = await untilBusy(watch);
    machine.process.kill("SIGSTOP");
    const others = async () => (await watch.machines()).filter(({ id }) => id !== machine.id);
    await expect.poll(async () => (await others()).map(({ busySlots }) => busySlots), POLL).toEqual([1]);
    machine.process.kill("SIGCONT");
    expect(await walking).toMatchObject({ output: 30, metadata: { attempts: 2 } });
    await untilIdle(watch);
    expect(served.effects).toEqual(steps(30));
  });

  test("goes on with its call where nobody has had it meanwhile", async () => {
    await using fleet = await startFleet(1, MACHINE);
    await using watch = watchFleet(fleet);
    await using served = await serve(fleet);
    await untilIdle(watch);
    const walking = walk(served.engine, 40, LONG_MS / 15);
    const machine = await untilBusy(watch);
    machine.process.kill("SIGSTOP");
    await delay(LONG_MS);
    machine.process.kill("SIGCONT");
    expect(await walking).toMatchObject({ output: 40, metadata: { attempts: 1 } });
    expect(served.effects).toEqual(steps(40));
  });

  test("ends its call first where it is told to end in time", async () => {
    await using fleet = await startFleet(2, MACHINE);
    await using watch = watchFleet(fleet);
    await using served = await serve(fleet);
    await untilIdle(watch);
    const walking = walk(served.engine, 30, 100);
    const machine = await untilBusy(watch);
    const [code, result] = await Promise.all([machine.end("SIGTERM"), walking]);
    expect(code).toBe(0);
    expect(result).toMatchObject({ output: 30, metadata: { attempts: 1 } });
    expect(served.effects).toEqual(steps(30));
  });

  test("gives its call to another at once where its time to drain is over", async () => {
    await using fleet = await startFleet(2, { ...MACHINE, drainMs: 200 });
    await using watch = watchFleet(fleet);
    await using served = await serve(fleet);
    await untilIdle(watch);
    const walking = walk(served.engine, 40, 150);
    const machine = await untilBusy(watch);
    const [code, result] = await Promise.all([machine.end("SIGTERM"), walking]);
    expect(code).toBe(0);
    expect(result).toMatchObject({ output: 40, metadata: { attempts: 2 } });
    expect(served.effects).toEqual(steps(40));
  });
});
