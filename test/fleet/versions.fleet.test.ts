import type { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ExecutorEvents, CallReply } from "../../src/kernel/executor/executor.ts";
import { QueueExecutor } from "../../src/fleet/server/queue-executor.ts";
import { ERRORS } from "../../src/kernel/base/errors.ts";
import { FleetKeys } from "../../src/fleet/wire/keys.ts";
import { DEFAULT_LIMITS } from "../../src/kernel/base/limits.ts";
import type { Machine } from "../../src/fleet/machine/machine.ts";
import { RedisConnection } from "../../src/fleet/redis/connection.ts";
import { queueOptions, script } from "../kernel/executor/jobs.ts";
import { type RedisServer, startRedis } from "../redis-server.ts";
import { PROTOCOL } from "../../src/fleet/wire/messages.ts";
import { type Line, machineIn } from "./siege.ts";

/** Of the next version, as far as this one can tell. */
const NEXT = PROTOCOL + 1;
let redis: RedisServer;
let fleets = 0;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(() => redis[Symbol.asyncDispose]());

/** A fleet of its own for each test. */
function newFleet(): string {
  return `versions-${++fleets}`;
}

interface Server extends AsyncDisposable {
  readonly executor: QueueExecutor;
  readonly damage: readonly string[];
  double(n: number): Promise<CallReply["outcome"]>;
}

function serverOf(fleet: string, protocol: number): Server {
  let lastRun = 0;
  const damage: string[] = [];
  const executor = new QueueExecutor({
    ...queueOptions({ url: redis.url, name: fleet }),
    entropyKey: "a key for tests",
    nextCallNumber: () => ++lastRun,
    protocol,
    emit: (name, event) => {
      if (name === "fleet:damage") damage.push((event as ExecutorEvents["fleet:damage"][0]).why);
    },
  });
  const doubling = script("({ n }) => n * 2");
  const double = (n: number): Promise<CallReply["outcome"]> =>
    new Promise((resolve) => {
      executor.run({
        callNumber: ++lastRun,
        script: doubling,
        tenant: "",
        callId: "call",
        args: JSON.stringify({ n }),
        limits: DEFAULT_LIMITS,
        waitMs: DEFAULT_LIMITS.queueMs,
        stream: false,
        ask: (_, respond) => respond({ kind: "diverged", message: "nothing is asked here" }),
        onLog: () => undefined,
        settle: ({ outcome }) => resolve(outcome),
      });
    });
  return { executor, damage, double, [Symbol.asyncDispose]: () => executor.close() };
}

const jobsOf = async (machine: Machine): Promise<number> =>
  Number(/^glovebox_machine_jobs_total (\d+)$/m.exec(await machine.registry.metrics())?.[1]);

test("a server whose protocol no machine understands does not start, and says what to start beside them", async () => {
  const fleet = newFleet();
  await using _machine = await machineIn(redis, undefined, [], { fleet });
  await using server = serverOf(fleet, NEXT);
  await expect(server.executor.start()).rejects.toMatchObject({
    name: "GloveboxError",
    code: "executor_lost",
    message:
      `the fleet "${fleet}" cannot be used: no worker machine of the fleet understands protocol ${NEXT}, which this server ` +
      `speaks; they understand ${PROTOCOL}: start worker machines of its version beside them`,
  });
});

test("calls of servers of two versions go where they are understood, while a fleet is upgraded", async () => {
  const fleet = newFleet();
  await using both = await machineIn(redis, undefined, [], { fleet, protocols: [NEXT, PROTOCOL] });
  await using fresh = await machineIn(redis, undefined, [], { fleet, protocols: [NEXT] });
  await using older = serverOf(fleet, PROTOCOL);
  await using newer = serverOf(fleet, NEXT);
  await older.executor.start();
  await newer.executor.start();
  const numbers = Array.from({ length: 40 }, (_, n) => n);
  const answers = numbers.map((n) => ({ ok: true, json: `${n * 2}` }));
  expect(await Promise.all(numbers.map((n) => older.double(n)))).toEqual(answers);
  expect(await jobsOf(fresh)).toBe(0);
  expect(await jobsOf(both)).toBeGreaterThan(0);
  expect(older.executor.stats().fleet?.machines).toBe(1);
  await expect.poll(() => newer.executor.stats().fleet?.machines, { timeout: 60_000 }).toBe(2);
  await both.close();
  expect(await Promise.all(numbers.map((n) => newer.double(n)))).toEqual(answers);
  expect(await jobsOf(fresh)).toBeGreaterThan(0);
});

test("letters of another protocol are damage, and no more", async () => {
  const fleet = newFleet();
  const lines: Line[] = [];
  await using machine = await machineIn(redis, undefined, lines, { fleet });
  await using server = serverOf(fleet, PROTOCOL);
  await server.executor.start();
  const keys = new FleetKeys(fleet);
  await using connection = RedisConnection.open(redis.url, "another");
  await connection.ready(5_000);
  const client = connection.client as Redis;
  const [id = ""] = await client.zrange(keys.of("servers"), 0, "0");
  for (const to of [id, machine.stats().id]) {
    const letter = { v: 9, from: "server-00000000000000ff", seq: 1, messages: [{ kind: "from the future" }] };
    await client.xadd(keys.of("mail", to), "*", "m", `=plain1:${JSON.stringify(letter)}`);
  }
  const why = `an envelope of protocol 9; this member understands ${PROTOCOL}`;
  await expect.poll(() => server.damage).toEqual([why]);
  await expect.poll(() => lines.map(({ fields }) => fields)).toContainEqual({ why });
  expect(await server.double(4)).toEqual({ ok: true, json: "8" });
});

test("calls fail with a code that may be tried again when the last machine that understands them has gone", async () => {
  const fleet = newFleet();
  const last = await machineIn(redis, undefined, [], { fleet });
  await using _fresh = await machineIn(redis, undefined, [], { fleet, protocols: [NEXT] });
  await using server = serverOf(fleet, PROTOCOL);
  await server.executor.start();
  expect(await server.double(5)).toEqual({ ok: true, json: "10" });
  await last.close();
  await expect.poll(() => server.executor.stats().ready, { timeout: 60_000 }).toBe(false);
  // Until it is known to be gone for good, calls wait for it.
  const states = () => server.executor.stats().fleet?.seen.map(({ state }) => state);
  await expect.poll(states, { timeout: 60_000 }).toEqual(["other protocol"]);
  const outcome = await server.double(6);
  expect(outcome).toMatchObject({ ok: false, failure: { code: "executor_lost" } });
  expect(outcome).toMatchObject({
    failure: { message: expect.stringContaining(`understands protocol ${PROTOCOL}`) as string },
  });
  expect(ERRORS.executor_lost.retryable).toBe(true);
});
