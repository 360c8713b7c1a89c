import { setTimeout as delay } from "node:timers/promises";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { type RedisServer, startRedis } from "../../redis-server.ts";
import { callOf, messageOf, openRedisKv, startOwnRedis } from "../../kernel/broker/capabilities/kv/open.ts";

/** A word says why: neither an address nor a port is in it. */
const UNREACHABLE = /^StoreError: the store cannot be reached \([A-Za-z ]+\): try again later$/;

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

async function connections(): Promise<number> {
  const list = String(await peek.client.call("CLIENT", "LIST"));
  return list.split("\n").filter((line) => line.includes("name=glovebox:kv ")).length;
}

describe("the connection", () => {
  test("is opened by whoever first asks, and closed with the engine", async () => {
    const kv = openRedisKv(server.url);
    const invoke = callOf(kv);
    expect(await connections()).toBe(0);
    await Promise.all([invoke("get", { key: "k" }), invoke("get", { key: "k" })]);
    expect(await connections()).toBe(1);
    await kv.close?.();
    await expect.poll(connections).toBe(0);
    await expect(invoke("get", { key: "k" })).rejects.toThrow("the engine has closed");
  });

  test("is made again when Redis is back, with everything that was acknowledged", async () => {
    const own = await startOwnRedis();
    const invoke = callOf(openRedisKv(own.url));
    await invoke("set", { key: "k", value: { a: 1 } });
    await own.stop();
    await own.start();
    expect(await invoke("getEntry", { key: "k" })).toEqual({ value: { a: 1 }, version: 1, expiresAt: null });
    expect(await invoke("set", { key: "k", value: 2 })).toBe(2);
  });

  test("that cannot be had fails in words without an address, and nobody has to start the engine again", async () => {
    const own = await startOwnRedis();
    await own.stop();
    const invoke = callOf(openRedisKv(own.url));
    expect(await messageOf(invoke("set", { key: "k", value: 1 }))).toMatch(UNREACHABLE);
    await own.start();
    await vi.waitUntil(async () => (await messageOf(invoke("get", { key: "k" }))) === "it went well", 20_000);
    expect(await invoke("get", { key: "k" })).toBeNull();
  });

  test("that is lost is waited for while the call has time, and each wait is counted", async () => {
    const own = await startOwnRedis();
    const kv = openRedisKv(own.url);
    await callOf(kv)("set", { key: "k", value: 1 });
    await own.stop();
    let waits = 0;
    const invoke = callOf(kv, { leftMs: 30_000, onWait: () => waits++ });
    const waiting = Promise.all([invoke("get", { key: "k" }), invoke("set", { key: "other", value: 2 })]);
    // Longer than what has no time of its own waits.
    await delay(2_500);
    await own.start();
    expect(await waiting).toEqual([1, 2]);
    expect(waits).toBe(2);
  });

  test("that does not come back in a call's time fails before that ends, with the reason", async () => {
    const own = await startOwnRedis();
    const kv = openRedisKv(own.url);
    await callOf(kv)("get", { key: "k" });
    await own.stop();
    // Long enough for a process that gets no turn for a second or two.
    const leftMs = 5_000;
    const failed = messageOf(callOf(kv, { leftMs })("get", { key: "k" }));
    // Timers that are late come in their order all the same.
    expect(await Promise.race([failed, delay(leftMs, "the call has ended")])).toMatch(UNREACHABLE);
  });

  test("that is lost is waited for by so many requests of a tenant, and those of others find room", async () => {
    const own = await startOwnRedis();
    const kv = openRedisKv(own.url);
    await callOf(kv)("get", { key: "k" });
    await own.stop();
    const ending = new AbortController();
    const of = (tenant: string) => callOf(kv, { tenant, leftMs: 30_000, signal: ending.signal });
    const refused = /^StoreError: too many requests wait for the store, which cannot be reached/;
    let refusals = 0;
    const many = Array.from({ length: 300 }, async () => {
      if (refused.test(await messageOf(of("flood")("get", { key: "k" })))) refusals++;
    });
    const other = messageOf(of("other")("get", { key: "k" }));
    await expect.poll(() => refusals).toBe(44);
    ending.abort();
    await Promise.all(many);
    expect(refusals).toBe(44);
    expect(await other).toBe("StoreError: the call has ended");
  });

  test("that is silent for a while costs no write, and makes none twice", async () => {
    const own = await startOwnRedis();
    const invoke = callOf(openRedisKv(own.url), { leftMs: 30_000 });
    await invoke("set", { key: "n", value: 0 });
    own.signal("SIGSTOP");
    const writing = invoke("set", { key: "n", value: 1, ifVersion: 1 });
    await delay(2_500);
    own.signal("SIGCONT");
    expect(await writing).toBe(2);
  });

  test("that is refused says so, and shows nothing of the password", async () => {
    const own = await startOwnRedis();
    await using admin = RedisConnection.open(own.url, "admin");
    await admin.client.config("SET", "requirepass", "right-and-long");
    const invoke = callOf(openRedisKv(own.url.replace("//", "//:hush-hush@")));
    expect(await messageOf(invoke("get", { key: "k" }))).toBe(
      "StoreError: the store refused the login (WRONGPASS): check the user and the password in its URL",
    );
  });

  test("that is lost with an answer under way costs no write and makes none twice", async () => {
    const { url, loseNextAnswer, lost } = await unreliable(server.port);
    const invoke = callOf(openRedisKv(url));
    await invoke("get", { key: "n" });
    for (let at = 1; at <= 5; at++) {
      loseNextAnswer();
      const condition = at === 1 ? { ifAbsent: true } : { ifVersion: at - 1 };
      expect(await invoke("set", { key: "n", value: at, ...condition })).toBe(at);
    }
    loseNextAnswer();
    expect(await invoke("delete", { key: "n", ifVersion: 5 })).toBe(true);
    expect(lost()).toBe(6);
  });

  test("that comes back later brings nothing with it of which somebody was told that it failed", async () => {
    const { url, cut, mend } = await unreliable(server.port);
    const invoke = callOf(openRedisKv(url));
    await invoke("get", { key: "k" });
    cut();
    expect(await messageOf(invoke("set", { key: "k", value: 1 }))).toMatch(UNREACHABLE);
    mend();
    await vi.waitUntil(async () => (await messageOf(invoke("list"))) === "it went well", 20_000);
    expect(await invoke("get", { key: "k" })).toBeNull();
  });

  test("over which nothing comes is waited for no longer than two seconds, and what follows is served", async () => {
    const invoke = callOf(openRedisKv(server.url));
    await invoke("set", { key: "k", value: 1 });
    await peek.client.call("CLIENT", "PAUSE", "60000", "WRITE");
    onTestFinished(() => void peek.client.call("CLIENT", "UNPAUSE"));
    const messages = await Promise.all([1, 2, 3].map(() => messageOf(invoke("get", { key: "k" }))));
    expect(new Set(messages)).toEqual(
      new Set(["StoreError: the store did not respond in time: the operation may have been carried out or not"]),
    );
    await peek.client.call("CLIENT", "UNPAUSE");
    expect(await invoke("get", { key: "k" })).toBe(1);
  });

  test("that comes after a call has ended writes nothing for it", async () => {
    const own = await startOwnRedis();
    await own.stop();
    const ending = new AbortController();
    const kv = openRedisKv(own.url);
    const writing = messageOf(callOf(kv, { signal: ending.signal })("set", { key: "k", value: 1 }));
    ending.abort();
    await own.start();
    expect(await writing).toMatch(/^StoreError: the (?:call has ended$|store cannot be reached)/);
    expect(await callOf(kv)("get", { key: "k" })).toBeNull();
  });
});

/** A way to a server on which answers get lost, and which may be cut off. */
async function unreliable(port: number) {
  const sockets = new Set<Socket>();
  let state: "open" | "losing" | "cutting" | "cut" = "open";
  let losses = 0;
  const proxy = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const socket of [client, upstream]) sockets.add(socket.on("error", () => undefined));
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
    client.on("data", (data) => {
      if (state === "cutting") state = "cut";
      if (state === "cut") return client.destroy();
      return upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (state !== "losing") return client.write(data);
      state = "open";
      losses++;
      return client.destroy();
    });
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const { port: own } = proxy.address() as AddressInfo;
  return {
    url: `redis://127.0.0.1:${own}`,
    loseNextAnswer: () => void (state = "losing"),
    lost: () => losses,
    /** The next request does not arrive, and none after it. */
    cut: () => void (state = "cutting"),
    mend: () => void (state = "open"),
  };
}
