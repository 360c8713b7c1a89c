import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { StoreCaller, NewEntry } from "../../../src/kernel/broker/capabilities/kv/kv-store.ts";
import { RedisKvStore } from "../../../src/fleet/kv/redis-store.ts";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { type RedisServer, startRedis } from "../../redis-server.ts";
import {
  callOf,
  type Invoke,
  messageOf,
  MIB,
  openRedisKv,
  startOwnRedis,
} from "../../kernel/broker/capabilities/kv/open.ts";

const NOBODY: StoreCaller = { signal: new AbortController().signal };
const LONG_MS = 3_600_000;

let server: RedisServer;
let peek: RedisConnection;

beforeAll(async () => {
  server = await startRedis();
  peek = RedisConnection.open(server.url, "peek");
});
afterAll(async () => {
  await peek.close();
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await peek.client.flushall();
});

function openStore(url = server.url): RedisKvStore {
  const store = new RedisKvStore({ url });
  onTestFinished(() => store.close());
  return store;
}

function entryOf(key: string, value: unknown, more: Partial<NewEntry> = {}): NewEntry {
  return { key, value: JSON.stringify(value), ttlMs: null, condition: { kind: "always" }, quotaBytes: MIB, ...more };
}

/** The only key of Redis with such an end. */
async function keyOf(part: string): Promise<string> {
  const keys = await peek.client.keys(`glovebox:kv:{*}:${part}`);
  expect(keys).toHaveLength(1);
  return keys[0] ?? "";
}

test("two engines have one store, and each sees at once what the other did", async () => {
  const [one, other] = [callOf(openRedisKv(server.url)), callOf(openRedisKv(server.url))];
  await Promise.all([one("set", { key: "a", value: 1 }), other("set", { key: "b", value: 2 })]);
  expect([await one("get", { key: "b" }), await other("get", { key: "a" })]).toEqual([2, 1]);
});

test("a quota is held where two engines write at once", async () => {
  const invokes = [1, 2].map(() => callOf(openRedisKv(server.url), { quotaBytes: 64 * 20 }));
  const writing = invokes.flatMap((invoke, of) =>
    Array.from({ length: 100 }, (_, at) => invoke("set", { key: `k${of}-${at}`, value: at })),
  );
  const outcomes = await Promise.allSettled(writing);
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(20);
  expect(await peek.client.hget(await keyOf("heads"), "")).toBe(`${64 * 20}`);
});

test("what a namespace holds is counted right, whatever is written to it", async () => {
  const invoke = callOf(openRedisKv(server.url));
  for (let at = 0; at < 300; at++) {
    const key = `k${(at * 7) % 13}`;
    if (at % 5 === 4) await invoke("delete", { key });
    else await invoke("set", { key, value: "x".repeat((at * 31) % 200), ...(at % 3 === 0 ? { ttlMs: 1 + at } : {}) });
  }
  const heads = await peek.client.hgetall(await keyOf("heads"));
  const counted = Object.entries(heads).filter(([key]) => key !== "");
  const sum = counted.reduce((bytes, [, head]) => bytes + Math.max(64, Number(head.split(" ")[1])), 0);
  expect(heads[""]).toBe(`${sum}`);
  expect(await peek.client.hlen(await keyOf("values"))).toBe(counted.length);
  expect(await peek.client.zcard(await keyOf("order"))).toBe(counted.length);
});

describe("what has expired", () => {
  const read = async (invoke: Invoke, key: string) => (await invoke("get", { key })) === null;

  test("is taken out by the writes that follow, a hundred at most by each", async () => {
    const invoke = callOf(openRedisKv(server.url));
    await invoke("set", { key: "stays", value: 1 });
    const keys = Array.from({ length: 250 }, (_, at) => `k${at}`);
    await Promise.all(keys.map((key) => invoke("set", { key, value: 1, ttlMs: 500 })));
    for (const key of keys) await vi.waitUntil(() => read(invoke, key), 20_000);
    const order = await keyOf("order");
    let count = await peek.client.zcard(order);
    expect(count).toBeGreaterThan(1);
    while (count > 1) {
      await invoke("delete", { key: "none" });
      const left = await peek.client.zcard(order);
      expect(count - left).toBe(Math.min(100, count - 1));
      count = left;
    }
    expect(await peek.client.hget(await keyOf("heads"), "")).toBe("64");
  });

  test("goes by itself where nothing stays, and the last version goes later", async () => {
    const invoke = callOf(openRedisKv(server.url));
    for (const key of ["a", "b"]) await invoke("set", { key, value: 1, ttlMs: 20 });
    await vi.waitUntil(() => read(invoke, "b"), 20_000);
    expect(await peek.client.keys("*:heads")).toEqual([]);
    expect(await peek.client.pttl(await keyOf("version"))).toBeGreaterThan(24 * 3_600_000);
    expect(await invoke("set", { key: "a", value: 1 })).toBe(3);
  });

  test("takes nothing along that stays", async () => {
    const invoke = callOf(openRedisKv(server.url));
    await invoke("set", { key: "a", value: 1, ttlMs: LONG_MS });
    const parts = ["values", "heads", "order", "version"];
    const timesOf = () => Promise.all(parts.map(async (part) => peek.client.pttl(await keyOf(part))));
    for (const ms of await timesOf()) expect(ms).toBeGreaterThan(0);
    await invoke("set", { key: "b", value: 1 });
    expect(await timesOf()).toEqual([-1, -1, -1, -1]);
    await invoke("delete", { key: "b" });
    for (const ms of await timesOf()) expect(ms).toBeGreaterThan(0);
    await invoke("delete", { key: "a" });
    expect(await peek.client.keys("*:heads")).toEqual([]);
  });
});

test("Redis keeps the outcome of a write for ten seconds", async () => {
  await openStore().set(NOBODY, "n", entryOf("k", 1));
  expect(Math.ceil((await peek.client.pttl(await keyOf("once:*"))) / 10_000)).toBe(1);
});

describe("a Redis that fails", () => {
  test("says that there is no room where its memory is at its end, and takes entries again when some have gone", async () => {
    const own = await startOwnRedis({ args: ["--maxmemory", "4mb"] });
    const invoke = callOf(openRedisKv(own.url), { quotaBytes: 64 * MIB });
    const value = "x".repeat(200_000);
    let message = "it went well";
    let last = 0;
    for (; message === "it went well" && last < 40; last++) {
      message = await messageOf(invoke("set", { key: `k${last}`, value }));
    }
    expect(message).toMatch(/^StoreError: the store is full/);
    expect(await invoke("get", { key: `k${last - 1}` })).toBeNull();
    for (let at = 0; at < last - 1; at++) await invoke("delete", { key: `k${at}` });
    expect(await messageOf(invoke("set", { key: "again", value }))).toBe("it went well");
  });

  test.each([
    ["something else is in its place", () => setInstead("heads")],
    ["its values are no JSON", async () => peek.client.hset(await keyOf("values"), "k", "{")],
  ])("says that it is broken where %s", async (_what, spoil) => {
    const invoke = callOf(openRedisKv(server.url));
    await invoke("set", { key: "k", value: 1 });
    await spoil();
    expect(await messageOf(invoke("get", { key: "k" }))).toMatch(/^StoreError: the store is corrupt/);
  });

  test("may forget the scripts", async () => {
    const invoke = callOf(openRedisKv(server.url));
    await invoke("set", { key: "k", value: 1 });
    await peek.client.script("FLUSH");
    expect(await invoke("get", { key: "k" })).toBe(1);
  });
});

test("a cluster holds it, each namespace in one slot", async () => {
  const own = await startOwnRedis({ args: ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"] });
  await using admin = RedisConnection.open(own.url, "admin");
  await admin.client.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  const kv = openRedisKv(own.url.replace("redis:", "redis+cluster:"));
  for (const tool of ["a", "b", "c"]) {
    const invoke = callOf(kv, { tool });
    await vi.waitUntil(async () => (await messageOf(invoke("get", { key: "k" }))) === "it went well", 20_000);
    expect(await invoke("set", { key: "k", value: tool })).toBe(1);
    expect(await invoke("get", { key: "k" })).toBe(tool);
    expect(await invoke("list")).toMatchObject({ keys: [{ key: "k" }], cursor: null });
    expect(await invoke("delete", { key: "k" })).toBe(true);
  }
});

async function setInstead(part: string): Promise<void> {
  const key = await keyOf(part);
  await peek.client.del(key);
  await peek.client.set(key, "something else");
}
