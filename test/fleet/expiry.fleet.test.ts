import type { Redis } from "ioredis";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterEach, expect, test } from "vitest";
import { RedisConnection } from "../../src/fleet/redis/connection.ts";
import { type RedisServer, startRedis } from "../redis-server.ts";
import { SCALE, startMachineProcess } from "./fleet.ts";
import { PROTOCOL, queueName } from "../../src/fleet/wire/messages.ts";
import { startSiege } from "./siege.ts";

const SERVER = new URL("./programs/busy-server.ts", import.meta.url).pathname;
const QUEUE = queueName(PROTOCOL);
const LONG_MS = 120_000;
const MIB = 1024 * 1024;
/**
 * BullMQ's own, whose time begins anew with every member's look, every ten seconds: lists of ids that come and go, of which one that came
 * just before all members were killed has none yet. They hold ids only, and the next machine removes those whose jobs have expired.
 */
const PASSING = new RegExp(`:${QUEUE}:(?:active|marker|pc|prioritized|stalled|wait)$`);
const isPassing = (key: string): boolean => PASSING.test(key);

let children: ChildProcess[] = [];

afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  }
  children = [];
});

async function look(redis: Pick<RedisServer, "url">): Promise<{ readonly client: Redis } & AsyncDisposable> {
  const connection = RedisConnection.open(redis.url, "look");
  await connection.ready(5_000);
  return { client: connection.client as Redis, [Symbol.asyncDispose]: () => connection.close() };
}

/** The keys that stay for ever, as things are. */
async function lasting(client: Redis): Promise<readonly string[]> {
  const keys = await client.keys("*");
  const ttls = await Promise.all(keys.map((key) => client.pttl(key)));
  return keys.filter((_key, at) => ttls[at] === -1).toSorted();
}

async function usedBytes(client: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await client.info("memory"))?.[1]);
}

/** A server in a process of its own, with calls under way that wait. */
async function startServer(url: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--no-warnings", SERVER, url, `${SCALE}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  await once(createInterface({ input: child.stdout }), "line", { signal: AbortSignal.timeout(60_000) });
  return child;
}

test("what servers and machines leave in Redis when they close expires, all of it", async () => {
  // Its call waits for as long as the others take.
  const siege = await startSiege(undefined, { limits: { wallMs: 2 * LONG_MS } });
  const { client, keys } = siege;
  const waiting = siege.wait("to the end");
  await expect.poll(() => siege.deeds).toHaveLength(1);
  await Promise.all(Array.from({ length: 300 }, (_, at) => siege.add(at, 1)));
  await siege.engine.close();
  expect(await waiting).toMatchObject({ success: false, error: { code: "engine_closed" } });
  await siege.machine.close();
  expect((await client.keys(keys.of("*"))).length).toBeGreaterThan(2);
  expect(await lasting(client)).toEqual([]);
  await siege[Symbol.asyncDispose]();
});

test("what they leave when they are killed expires as well, and its jobs with their calls' own time", async () => {
  await using redis = await startRedis();
  await using seen = await look(redis);
  const { client } = seen;
  const machine = await startMachineProcess(redis.url, "test", { slots: 2 });
  children.push(machine.process);
  const server = await startServer(redis.url);
  // Some are with the machine, the others wait for it.
  await expect.poll(() => client.keys(`*:${QUEUE}:server-*[0-9]`).then(({ length }) => length)).toBeGreaterThan(10);
  // Members look after what BullMQ keeps every ten seconds.
  const last = async (): Promise<readonly string[]> => (await lasting(client)).filter((key) => !isPassing(key));
  await expect.poll(last, { timeout: 120_000, interval: 500 }).toEqual([]);
  const killed = [server, machine.process].map((child) => [child, once(child, "exit")] as const);
  for (const [child] of killed) child.kill("SIGKILL");
  await Promise.all(killed.map(([, exit]) => exit));
  expect(await last()).toEqual([]);
  const jobs = await client.keys(`*:${QUEUE}:server-*[0-9]`);
  expect(jobs.length).toBeGreaterThan(10);
  for (const job of jobs) expect(await client.pttl(job)).toBeLessThanOrEqual(3 * 60_000);
});

test("jobs that have expired are passed over by the next machine, which leaves nothing of them", async () => {
  await using siege = await startSiege(undefined);
  const { client, keys } = siege;
  const ids = Array.from({ length: 200 }, (_, at) => `server-00000000000000ff-${at}`);
  await client.lpush(keys.of(QUEUE, "wait"), ...ids);
  await client.zadd(keys.of(QUEUE, "marker"), 0, "0");
  await expect.poll(() => client.llen(keys.of(QUEUE, "wait")), { timeout: 60_000 }).toBe(0);
  expect(await siege.add(1, 2)).toBe(3);
  const left = (): Promise<readonly string[]> => client.keys(keys.of(QUEUE, "server-00000000000000ff-*"));
  await expect.poll(left, { timeout: 60_000 }).toEqual([]);
});

test("neither keys nor memory grow with the number of calls", async () => {
  await using siege = await startSiege(undefined);
  const { client } = siege;
  const call = (count: number): Promise<readonly unknown[]> =>
    Promise.all(Array.from({ length: count }, (_, at) => siege.add(at, 1)));
  await call(500);
  const settled = async (): Promise<number> => (await client.keys(`*:${QUEUE}:server-*`)).length;
  await expect.poll(settled, { timeout: 60_000 }).toBe(0);
  const before = { keys: await client.dbsize(), lasting: await lasting(client), bytes: await usedBytes(client) };
  for (let round = 0; round < 8; round++) await call(250);
  await expect.poll(settled, { timeout: 60_000 }).toBe(0);
  // Lists of BullMQ's come and go.
  expect(await client.dbsize()).toBeLessThanOrEqual(before.keys + 6);
  // On a busy machine a queue may be given up in between, and be there again later.
  const added = (await lasting(client)).filter((key) => !isPassing(key) && !before.lasting.includes(key));
  expect(added).toEqual([]);
  expect((await usedBytes(client)) - before.bytes).toBeLessThan(2 * MIB);
});
