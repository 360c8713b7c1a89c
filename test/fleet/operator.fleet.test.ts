import { hostname } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defineCapability, type Engine } from "../../src/glovebox/index.ts";
import type { Machine } from "../../src/fleet/machine/machine.ts";
import { readSnapshot } from "../../src/cli/stats-feed.ts";
import { createServer, type Server } from "../../src/server/http/server.ts";
import { conformingFetch } from "../server/mcp/conformance.ts";
import { createFleetEngine } from "./fleet.ts";
import { type RedisServer, startRedis } from "../redis-server.ts";
import { PROTOCOL } from "../../src/fleet/wire/messages.ts";
import { machineIn } from "./siege.ts";

let redis: RedisServer;
let fleets = 0;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

interface Operated extends AsyncDisposable {
  readonly name: string;
  readonly machine: Machine;
  readonly engine: Engine;
  readonly server: Server;
  /** Lets calls of `wait` end. */
  readonly open: () => void;
  /** What `/readyz` answers: its status, and why. */
  readonly readiness: () => Promise<readonly [number, unknown, unknown]>;
}

/** A server over HTTP with a fleet of its own, in which there is one machine. */
async function operate(): Promise<Operated> {
  const name = `operator-${++fleets}`;
  const machine = await machineIn(redis, undefined, [], { fleet: name });
  let isOpen = false;
  const wait = {
    name: "wait",
    description: "Waits.",
    capabilities: { gate: true as const },
    // A call that waits for its server has no slot: it waits by itself between its looks.
    source: `export default async (_, { host }) => {
      while (!(await host.gate.isOpen())) await new Promise((done) => setTimeout(done, 200));
    };`,
  };
  const engine = await createFleetEngine({
    executor: { kind: "queue", url: redis.url, fleet: name },
    capabilities: [defineCapability({ name: "gate", methods: { isOpen: { handler: () => isOpen } } })],
    policy: { rules: [{ allow: { gate: true } }] },
    limits: { wallMs: 200_000, capabilityCalls: 10_000 },
    tools: [wait],
  });
  const server = await createServer(engine, { port: 0, drainMs: 0 });
  return {
    name,
    machine,
    engine,
    server,
    open: () => void (isOpen = true),
    readiness: async () => {
      const response = await conformingFetch(`${server.url}/readyz`);
      const { status, reason } = (await response.json()) as { status: unknown; reason?: unknown };
      return [response.status, status, reason];
    },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await machine.close();
    },
  };
}

const waiting = (reason: unknown) => [503, "waiting for an executor", reason];

test("a server shows each machine of its fleet, wherever it shows its executor", async () => {
  await using fleet = await operate();
  const { id } = fleet.machine.stats();
  const seen = [
    {
      id,
      host: hostname(),
      state: "ready",
      slots: 4,
      busySlots: 0,
      protocols: [PROTOCOL],
      isSandboxed: expect.any(Boolean),
      silentMs: expect.any(Number),
    },
  ];
  const counts = { machines: 1, slots: 4, busySlots: 0, waitingJobs: 0, isRedisUp: true, problem: null };
  const expected = { ...counts, seen, unlisted: 0, unreadable: 0 };
  // It last spoke while it looked at the tool, perhaps.
  await expect.poll(() => fleet.engine.stats().executor.fleet, { timeout: 60_000 }).toEqual(expected);
  const response = await conformingFetch(`${fleet.server.url}/v1/stats`);
  expect(await response.json()).toMatchObject({ executor: { kind: "queue", fleet: expected } });
  const snapshot = await readSnapshot({ url: new URL(fleet.server.url), key: undefined });
  expect(snapshot.executor.fleet).toEqual(expected);
  expect(await fleet.readiness()).toEqual([200, "ready", undefined]);
});

test("a machine that is about to stop is shown so, with what it still does, and is why a server is not ready", async () => {
  await using fleet = await operate();
  const call = fleet.engine.execute({ name: "wait", arguments: {} });
  await expect.poll(() => fleet.machine.stats().busySlots, { timeout: 60_000 }).toBe(1);
  const drained = fleet.machine.drain(200_000);
  await expect
    .poll(() => fleet.engine.stats().executor.fleet?.seen[0], { timeout: 60_000 })
    .toMatchObject({ state: "draining", busySlots: 1 });
  expect(await fleet.readiness()).toEqual(waiting("no worker machine takes calls: 1 draining"));
  fleet.open();
  expect(await call).toMatchObject({ success: true });
  await drained;
});

test("a server that starts before its machines says what it waits for, and goes on with the first", async () => {
  const fleet = "late-machines";
  const said = Promise.withResolvers<string>();
  const log = (): void => undefined;
  const logger = { trace: log, debug: log, info: log, warn: (_: object, line: string) => said.resolve(line) };
  const starting = createFleetEngine({ workers: 1, executor: { kind: "queue", url: redis.url, fleet }, logger });
  expect(await said.promise).toBe(
    "the start waits for a worker machine: there is no worker machine: start one with glovebox worker",
  );
  await using _machine = await machineIn(redis, undefined, [], { fleet });
  await using engine = await starting;
  expect(engine.stats().executor.ready).toBe(true);
});

test("a server without a machine says how to start one, and then which it has instead", async () => {
  await using fleet = await operate();
  await fleet.machine.close();
  const reason = async () => (await fleet.readiness())[2];
  await expect.poll(reason, { timeout: 60_000 }).toBe("there is no worker machine: start one with glovebox worker");
  {
    await using _other = await machineIn(redis, "the secret of another fleet", [], { fleet: fleet.name });
    const words =
      "1 worker machines cannot be read: they were given another secret than this server, or none; " +
      "give all of them the same GLOVEBOX_FLEET_SECRET (executor.secret)";
    await expect.poll(fleet.readiness, { timeout: 60_000 }).toEqual(waiting(words));
    expect(fleet.engine.stats().executor.fleet).toMatchObject({ unreadable: 1, seen: [] });
  }
  await using _newer = await machineIn(redis, undefined, [], { fleet: fleet.name, protocols: [PROTOCOL + 1] });
  await expect
    .poll(reason, { timeout: 60_000 })
    .toBe(
      `no worker machine of the fleet understands protocol ${PROTOCOL}, which this server speaks; they understand ` +
        `${PROTOCOL + 1}: upgrade this server, or start worker machines of its version beside them`,
    );
  expect(fleet.engine.stats().executor.fleet?.seen).toMatchObject([
    { state: "other protocol", protocols: [PROTOCOL + 1] },
  ]);
});

test("a server and a machine say since when they do not reach Redis, and why, and how long a machine is silent", async () => {
  await using fleet = await operate();
  const since = new Date(Date.now() - 1_000).toISOString();
  await redis.stop();
  const words = /^Redis has not been reached since (?<at>\S+Z) \(ECONNREFUSED\): check that it runs/;
  const problem = () => fleet.machine.stats().problem ?? "";
  await expect.poll(problem, { timeout: 60_000 }).toMatch(words);
  await expect.poll(fleet.readiness, { timeout: 60_000 }).toEqual(waiting(expect.stringMatching(words)));
  expect((words.exec(problem())?.groups?.["at"] ?? "") > since.slice(0, 19)).toBe(true);
  await expect
    .poll(() => fleet.engine.stats().executor.fleet?.seen[0]?.silentMs, { timeout: 60_000 })
    .toBeGreaterThan(1_000);
  await redis.start();
  await expect.poll(fleet.readiness, { timeout: 60_000 }).toEqual([200, "ready", undefined]);
  // The server may be there first, and has heard of the machine before.
  await expect.poll(() => fleet.machine.stats().problem, { timeout: 60_000 }).toBeNull();
  await expect
    .poll(() => fleet.engine.stats().executor.fleet?.seen[0]?.silentMs, { timeout: 60_000 })
    .toBeLessThan(3_000);
});
