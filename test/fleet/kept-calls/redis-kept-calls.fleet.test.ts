import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { readFilter } from "../../../src/kernel/store/calls/call-record.ts";
import { WAITING_MAX } from "../../../src/kernel/store/calls/call-store.ts";
import type { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { createEngine } from "../../../src/glovebox/index.ts";
import { glovebox, ROOT } from "../../cli/command.ts";
import { hiddenIn, hidingOptions, makeHidingCalls, serveEcho } from "../../kernel/engine/hidden-values.ts";
import { connectTo, type RedisServer, startRedis } from "../../redis-server.ts";
import { rowOf } from "../../kernel/store/calls/kept-row.ts";
import { openStore } from "../../kernel/store/calls/stored-calls.ts";
import { BEGIN_MS, CALLS, describeCallStore, idsOf } from "../../kernel/store/calls/suite.ts";

const SECRET = "a secret of the fleet";
const MIB = 1024 * 1024;
const HOUR_MS = 60 * 60 * 1_000;

let server: RedisServer;
let peek: RedisConnection;
beforeAll(async () => {
  server = await startRedis();
  peek = await connectTo(server.url);
});
afterAll(async () => {
  await peek.close();
  await server[Symbol.asyncDispose]();
});

const place = (url = server.url) => ({ url, fleet: randomUUID(), secret: SECRET });

/** What a fleet has in Redis: its keys without their prefix. */
async function keysOf(fleet: string): Promise<readonly string[]> {
  const prefix = `{glovebox:${fleet}:calls}:`;
  return (await peek.client.keys("*")).filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
}

/** All that a Redis has on disk. */
function bytesIn({ dir }: RedisServer): Buffer {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  return Buffer.concat(files.map((file) => readFileSync(join(file.parentPath, file.name))));
}

/** A Redis that a test harms. */
async function ownServer(): Promise<RedisServer> {
  const own = await startRedis();
  onTestFinished(() => own[Symbol.asyncDispose]());
  return own;
}

describe("the store of calls in Redis", () => {
  describeCallStore(() => place());

  test("has the calls of all servers for each of them", async () => {
    const at = place();
    const [one, other] = [openStore(at), openStore(at)];
    one.store.keep(rowOf({ id: "first", beginMs: BEGIN_MS, code: "tool_error", error: "no" }, { arguments: "[1]" }), 0);
    other.store.keep(rowOf({ id: "second", beginMs: BEGIN_MS + 1 }), 0);
    await expect.poll(() => one.store.status().kept + other.store.status().kept).toBe(2);
    for (const { list, store } of [one, other]) {
      expect(idsOf(await list())).toEqual(["second", "first"]);
      expect((await store.get("first", null))?.detail).toMatchObject({ arguments: [1] });
    }
  });

  test("tells who watches of the calls of other servers, and nobody else", async () => {
    const at = place();
    const [one, other] = [openStore(at), openStore(at)];
    other.store.watch(true);
    await expect.poll(() => keysOf(at.fleet)).toContain("watched");
    one.store.keep(rowOf({ id: "of one" }), 0);
    other.store.keep(rowOf({ id: "of other" }), 0);
    await expect.poll(() => other.heard).toEqual(["of one"]);
    expect(one.heard).toEqual([]);
    other.store.watch(false);
    one.store.keep(rowOf({ id: "later" }), 0);
    await expect.poll(() => one.store.status().kept).toBe(2);
    expect(other.heard).toEqual(["of one"]);
  });

  test("keeps nothing in plain form but outcomes and times", async () => {
    const own = await ownServer();
    const { store } = openStore(place(own.url));
    const named = {
      id: "id-of-it",
      tool: "tool-of-it",
      tenant: "tenant-of-it",
      code: "tool_error",
      error: "why-of-it",
    };
    const detail = { arguments: '{"argument-of-it":1}', output: '"output-of-it"', logs: '[["info","log-of-it"]]' };
    store.keep(rowOf(named, { ...detail, run: '{"tool":"run-of-it"}' }), 0);
    await expect.poll(() => store.status().kept).toBe(1);
    await own.stop();
    const written = bytesIn(own).toString("latin1");
    expect(written).toContain("tool_error");
    expect(written).not.toContain("-of-it");
  });

  test("has nothing of a password, of a secret that a server gives back, or of a config, sealed or not", async () => {
    const own = await ownServer();
    const at = place(own.url);
    await using upstream = await serveEcho();
    await using engine = await createEngine({
      ...hidingOptions(upstream.origin),
      calls: { ...at, keep: "everything" },
    });
    await makeHidingCalls(engine, upstream);
    await expect.poll(() => engine.calls.get("7")).toBeDefined();
    const args = ["calls", "export", "--redis", own.url, "--fleet", at.fleet];
    const { stdout } = await glovebox(ROOT, args, { GLOVEBOX_FLEET_SECRET: SECRET });
    expect(stdout.trimEnd().split("\n")).toHaveLength(7);
    for (const text of ["[redacted]", "/echo?key="]) expect(stdout).toContain(text);
    expect(hiddenIn(Buffer.from(stdout))).toEqual([]);
    await own.stop();
    expect(hiddenIn(bytesIn(own))).toEqual([]);
  });

  test("is of no use to who has another secret, and says so", async () => {
    const at = place();
    const { store } = openStore(at);
    store.keep(rowOf({ id: "first", tenant: "acme" }), 0);
    await expect.poll(() => store.status().kept).toBe(1);
    const other = openStore({ ...at, secret: "another secret than theirs" });
    await expect(other.list()).rejects.toThrow("sealed with another secret");
    expect(await other.list({ tenant: "acme" })).toEqual([]);
    expect(await other.store.get("first", null)).toBeUndefined();
    other.store.keep(rowOf({ id: "second" }), 0);
    await expect.poll(() => other.store.status().kept).toBe(1);
    expect(idsOf(await other.list())).toEqual(["second"]);
  });

  test("shows no call that a writer to Redis has put in the place of another", async () => {
    const at = place();
    const { store, list } = openStore(at);
    for (const tenant of ["acme", "beta"]) store.keep(rowOf({ id: `of ${tenant}`, tenant, beginMs: BEGIN_MS }), 0);
    await expect.poll(() => store.status().kept).toBe(2);
    const rows = `{glovebox:${at.fleet}:calls}:rows`;
    const [[first, one] = [], [second, two] = []] = Object.entries(await peek.client.hgetall(rows));
    await peek.client.hset(rows, first ?? "", two ?? "", second ?? "", one ?? "");
    expect(await list({ tenant: "acme" }).catch(() => [])).toEqual([]);
    await expect(store.get("of acme", "acme")).rejects.toThrow("were changed");
  });

  test("at its size loses its oldest calls, and no new ones", async () => {
    const at = place();
    const { store, list, drops } = openStore({ ...at, maxBytes: MIB });
    const text = JSON.stringify("x".repeat(10_000));
    for (let each = 0; each < 300; each++) {
      store.keep(rowOf({ id: `c${each}`, beginMs: BEGIN_MS + each }, { output: text }), text.length);
    }
    await expect.poll(() => store.status().kept).toBe(300);
    expect(store.status().bytes).toBeLessThanOrEqual(MIB);
    expect(drops).toEqual([]);
    const kept = await list({ limit: 200 });
    expect(kept[0]?.id).toBe("c299");
    expect(kept.length).toBeLessThan(100);
    expect((await store.get("c299", null))?.detail?.output).toHaveLength(10_000);
    expect(await store.get("c0", null)).toBeUndefined();
  });

  test("leaves nothing of calls that are too old, and all else for as long as calls are kept", async () => {
    const at = place();
    const first = openStore({ ...at, maxAgeMs: HOUR_MS });
    const detail = { arguments: "{}" };
    for (const call of CALLS.slice(0, 200)) first.store.keep(rowOf({ ...call, beginMs: BEGIN_MS }, detail), 0);
    await expect.poll(() => first.store.status().kept).toBe(200);
    for (const key of await keysOf(at.fleet)) {
      const leftMs = await peek.client.pttl(`{glovebox:${at.fleet}:calls}:${key}`);
      expect([key, leftMs > 0 && leftMs <= 24 * HOUR_MS]).toEqual([key, true]);
    }
    const { list } = openStore({ ...at, maxAgeMs: 1_000 });
    await expect.poll(async () => (await list()).length).toBe(0);
    await expect.poll(() => keysOf(at.fleet)).toEqual(["books"]);
    expect(await peek.client.hgetall(`{glovebox:${at.fleet}:calls}:books`)).toEqual({ rows: "0", details: "0" });
  });

  test("looks at a bounded number of calls for a list, and goes on from there", async () => {
    const { store } = openStore(place());
    const isRare = (each: number): boolean => each === 3;
    for (let each = 0; each < 9_000; each++) {
      const error = isRare(each) ? "rare" : "common";
      store.keep(rowOf({ id: `c${each}`, code: "tool_error", error, beginMs: BEGIN_MS + each }), 0);
    }
    await expect.poll(() => store.status().kept).toBe(9_000);
    const first = await store.list(readFilter({ text: "rare" }));
    expect(first.calls).toEqual([]);
    const second = await store.list(readFilter({ text: "rare", cursor: first.cursor ?? "" }));
    const third = await store.list(readFilter({ text: "rare", cursor: second.cursor ?? "" }));
    expect(idsOf([...second.calls, ...third.calls])).toEqual(["c3"]);
    expect(third.cursor).toBeNull();
  });
});

describe("a Redis that cannot be used", () => {
  test("delays calls while it is gone, and loses none that fit the queue", async () => {
    const own = await ownServer();
    const { store, list, drops } = openStore(place(own.url));
    store.keep(rowOf({ id: "first", beginMs: BEGIN_MS }), 0);
    await expect.poll(() => store.status().kept).toBe(1);
    await own.stop();
    store.keep(rowOf({ id: "second" }), 0);
    await expect.poll(() => store.status().problem).toMatch("the store cannot be reached");
    await expect(list()).rejects.toThrow("cannot be reached");
    await own.start();
    await expect.poll(() => store.status().kept).toBe(2);
    expect(store.status().problem).toBeNull();
    expect(idsOf(await list())).toEqual(["second", "first"]);
    expect(drops).toEqual([]);
  });

  test("drops calls and counts them by its reason when too many wait", async () => {
    const own = await ownServer();
    const { store, drops } = openStore(place(own.url));
    await own.stop();
    store.keep(rowOf({ id: "first" }), 0);
    await expect.poll(() => store.status().problem).not.toBeNull();
    for (let each = 0; each < WAITING_MAX + 9; each++) store.keep(rowOf({ id: `c${each}` }), 0);
    expect(store.status().dropped.unreachable).toBe(10);
    await expect.poll(() => drops).toMatchObject([{ dropped: 10, reason: "unreachable" }]);
    await store.close();
    expect(store.status().dropped.unreachable + store.status().dropped.ended).toBe(WAITING_MAX + 10);
  });

  test("has a call once that was sent again, as its answer was late", async () => {
    const own = await ownServer();
    const { store, list } = openStore(place(own.url));
    store.keep(rowOf({ id: "first", beginMs: BEGIN_MS }), 0);
    await expect.poll(() => store.status().kept).toBe(1);
    own.signal("SIGSTOP");
    for (let each = 0; each < 100; each++) store.keep(rowOf({ id: `c${each}`, beginMs: BEGIN_MS + 1 + each }), 0);
    await expect.poll(() => store.status().problem).not.toBeNull();
    own.signal("SIGCONT");
    await expect.poll(() => store.status().kept).toBe(101);
    expect(await list({ limit: 200 })).toHaveLength(101);
  });

  test("that has another value in the place of calls is told, and nothing of it is changed", async () => {
    const at = place();
    const key = `{glovebox:${at.fleet}:calls}:rows`;
    await peek.client.set(key, "theirs");
    const { store } = openStore(at);
    store.keep(rowOf({ id: "first" }), 0);
    await expect.poll(() => store.status().problem).toMatch("a key holds another type of value");
    expect(await peek.client.get(key)).toBe("theirs");
    await peek.client.del(key);
    await expect.poll(() => store.status().kept).toBe(1);
  });

  test("that is full is left as it is, told, and written again once it has room", async () => {
    const own = await ownServer();
    await using admin = await connectTo(own.url);
    const { store, list } = openStore(place(own.url));
    store.keep(rowOf({ id: "first", beginMs: BEGIN_MS }), 0);
    await expect.poll(() => store.status().kept).toBe(1);
    await admin.client.config("SET", "maxmemory-policy", "noeviction");
    await admin.client.config("SET", "maxmemory", "1");
    store.keep(rowOf({ id: "second" }), 0);
    await expect
      .poll(() => store.status().problem)
      .toBe("the store is full: its maxmemory is reached (OOM): try again later");
    for (let each = 0; each < WAITING_MAX + 4; each++) store.keep(rowOf({ id: `c${each}` }), 0);
    expect(store.status().dropped.full).toBe(5);
    expect(idsOf(await list())).toEqual(["first"]);
    await admin.client.config("SET", "maxmemory", "0");
    await expect.poll(() => store.status().problem).toBeNull();
    await expect.poll(() => store.status().kept).toBe(WAITING_MAX + 1);
  });
});
