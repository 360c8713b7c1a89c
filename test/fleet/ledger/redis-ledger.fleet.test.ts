import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { KeyedCall } from "../../../src/kernel/store/calls/ledger.ts";
import { RedisCalls } from "../../../src/fleet/ledger/redis-calls.ts";
import { RedisLedger, type RedisLedgerOptions } from "../../../src/fleet/ledger/redis-ledger.ts";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { Seal } from "../../../src/kernel/store/seal.ts";
import type { LedgerClaim } from "../../../src/kernel/base/ledger-claim.ts";
import { freePort, type RedisServer, startRedis } from "../../redis-server.ts";

const TTL_MS = 60_000;
const SECRET = "a secret of the ledger";
const MARK = "the tool's mark";
const NEVER = new AbortController().signal;

let server: RedisServer;
let connection: RedisConnection;
beforeAll(async () => {
  server = await startRedis();
  connection = RedisConnection.open(server.url, "test");
});
afterAll(async () => {
  await connection.close();
  await server[Symbol.asyncDispose]();
});

const digest = (text: string) => createHash("sha256").update(text).digest();
const callOf = (key: string, tenant = "t", mayRepeat = false): KeyedCall => ({
  digest: digest(`${tenant}/${key}`),
  tenant: digest(tenant),
  asked: digest("x"),
  mayRepeat,
});
const result = (text: string) => JSON.stringify({ text });

/** A fleet of its own for each test. */
function openFleet(options: Partial<RedisLedgerOptions> = {}) {
  const fleet = randomUUID();
  const all: RedisLedger[] = [];
  onTestFinished(() => Promise.all(all.map((each) => each.close())).then(() => undefined));
  return {
    prefix: `{glovebox:${fleet}:ledger}:`,
    fleet,
    /** Another process. */
    ledger: (own: Partial<RedisLedgerOptions> = {}) => {
      const room = { ttlMs: TTL_MS, maxEntries: 1_000, maxBytes: 64 * 1024 ** 2 };
      const ledger = new RedisLedger({
        url: server.url,
        fleet,
        secret: undefined,
        ...room,
        ...options,
        ...own,
      });
      all.push(ledger);
      return ledger;
    },
    keys: async () => (await connection.client.keys("*")).filter((key) => key.includes(fleet)),
    /** Says of all processes that they were last seen long ago. */
    forgetProcesses: () => connection.client.del(`{glovebox:${fleet}:ledger}:holders`),
  };
}

/** Claims a call that is there to be claimed, and answers what another process has to know of it. */
async function begin(ledger: RedisLedger, call: KeyedCall): Promise<LedgerClaim> {
  expect(await ledger.claim(call, NEVER, 1)).toEqual({ kind: "mine" });
  const ticket = ledger.claimOf(call, { mark: MARK, isConfidential: false });
  if (ticket === null) throw new Error("there is no ticket");
  return ticket;
}

describe("the end of a call whose server is lost", () => {
  test("is left by the machine that ran it, and whoever asks again gets it", async () => {
    const fleet = openFleet({ secret: SECRET });
    const [lost, machine, other] = [fleet.ledger(), fleet.ledger(), fleet.ledger()];
    const ticket = await begin(lost, callOf("k"));
    await fleet.forgetProcesses();
    expect(await machine.leave(ticket, result("done"))).toBe(true);
    expect(await other.claim(callOf("k"), NEVER, 1)).toEqual({ kind: "left", end: result("done") });
  });

  test("may be left before the server is known to be lost, and is settled once", async () => {
    const fleet = openFleet();
    const [server, machine] = [fleet.ledger(), fleet.ledger()];
    const ticket = await begin(server, callOf("k"));
    expect(await machine.leave(ticket, result("first"))).toBe(true);
    await server.settle(callOf("k"), result("second"));
    expect(await machine.leave(ticket, result("third"))).toBe(false);
    expect(await machine.claim(callOf("k"), NEVER, 1)).toEqual({ kind: "left", end: result("first") });
  });

  test("is not taken for another claim's: not of another server, and not of the same one", async () => {
    const fleet = openFleet();
    const [first, second, machine] = [fleet.ledger(), fleet.ledger(), fleet.ledger()];
    const released = await begin(first, callOf("k", "t", true));
    await first.release(callOf("k", "t", true));
    const lost = await begin(first, callOf("k", "t", true));
    expect(await machine.leave(released, result("stale"))).toBe(false);
    await fleet.forgetProcesses();
    await begin(second, callOf("k", "t", true));
    expect(await machine.leave(lost, result("late"))).toBe(false);
    await second.settle(callOf("k", "t", true), result("right"));
    expect(await first.claim(callOf("k", "t", true), NEVER, 1)).toEqual({ kind: "kept", result: result("right") });
  });

  test("is no more than that there was one, where there is no room for it", async () => {
    const fleet = openFleet({ maxBytes: 1024 ** 2 });
    const [lost, machine] = [fleet.ledger(), fleet.ledger({ maxBytes: 1024 ** 3 })];
    const ticket = await begin(lost, callOf("k"));
    expect(await machine.leave(ticket, "x".repeat(1024 ** 2 / 16 + 1))).toBe(true);
    expect(await machine.claim(callOf("k"), NEVER, 1)).toEqual({ kind: "unknown", hasEnded: true });
  });
});

describe("a call whose server is missed", () => {
  test("runs for all others as long as its machine carries it", async () => {
    const fleet = openFleet();
    const [lost, machine, other] = [fleet.ledger(), fleet.ledger(), fleet.ledger()];
    const ticket = await begin(lost, callOf("k", "t", true));
    await fleet.forgetProcesses();
    expect(await machine.carry(ticket)).toBe(true);
    expect(await other.claim(callOf("k", "t", true), NEVER, 1)).toEqual({ kind: "running" });
    await fleet.forgetProcesses();
    expect(await other.claim(callOf("k", "t", true), NEVER, 1)).toEqual({ kind: "mine" });
    expect(await machine.carry(ticket)).toBe(false);
  });

  test("is lost as soon as its machine puts it down, and not when another one does", async () => {
    const fleet = openFleet();
    const [lost, machine, stranger, other] = [fleet.ledger(), fleet.ledger(), fleet.ledger(), fleet.ledger()];
    const ticket = await begin(lost, callOf("k"));
    await fleet.forgetProcesses();
    await machine.carry(ticket);
    await stranger.putDown(ticket);
    expect(await other.claim(callOf("k"), NEVER, 1)).toEqual({ kind: "running" });
    await machine.putDown(ticket);
    expect(await other.claim(callOf("k"), NEVER, 1)).toEqual({ kind: "unknown", hasEnded: false });
  });

  test("is anybody's again once its machine says that nothing of it was done", async () => {
    const fleet = openFleet();
    const [lost, machine, other] = [fleet.ledger(), fleet.ledger(), fleet.ledger()];
    const ticket = await begin(lost, callOf("k"));
    await machine.releaseFor(ticket);
    expect(await other.claim(callOf("k"), NEVER, 1)).toEqual({ kind: "mine" });
  });

  test("is kept from the sweep by its machine, as it was by its server", async () => {
    const fleet = openFleet({ ttlMs: 1 });
    const [lost, machine] = [fleet.ledger(), fleet.ledger()];
    const ticket = await begin(lost, callOf("k"));
    await fleet.forgetProcesses();
    await machine.carry(ticket);
    const room = { ttlMs: 1, maxEntries: 1, maxBytes: 1 };
    const calls = new RedisCalls(connection, { fleet: fleet.fleet, room, seal: Seal.of(undefined) });
    await calls.sweep(Date.now() + 100);
    expect(await machine.carry(ticket)).toBe(true);
  });
});

describe("a ticket", () => {
  test("says its tool's mark to those who know the ledger's secret, and to nobody else", async () => {
    const fleet = openFleet({ secret: SECRET });
    const ticket = await begin(fleet.ledger(), callOf("k"));
    expect(JSON.stringify(ticket)).not.toContain(MARK);
    expect(fleet.ledger().markOf(ticket)).toBe(MARK);
    expect(fleet.ledger({ secret: "another secret of it" }).markOf(ticket)).toBe(null);
    expect(fleet.ledger({ secret: undefined }).markOf(ticket)).toBe(null);
  });

  test("of a tool with a config is only there where the ledger has a secret", async () => {
    for (const secret of [undefined, SECRET]) {
      const ledger = openFleet({ secret }).ledger();
      await begin(ledger, callOf("k"));
      const ticket = ledger.claimOf(callOf("k"), { mark: MARK, isConfidential: true });
      expect(ticket === null).toBe(secret === undefined);
    }
  });

  test("is of a call that has been claimed, and not yet settled", async () => {
    const ledger = openFleet().ledger();
    const tool = { mark: MARK, isConfidential: false };
    expect(ledger.claimOf(callOf("k"), tool)).toBe(null);
    await begin(ledger, callOf("k"));
    await ledger.settle(callOf("k"), result("x"));
    expect(ledger.claimOf(callOf("k"), tool)).toBe(null);
  });
});

describe("what lies in Redis", () => {
  test("expires, all of it", async () => {
    const fleet = openFleet();
    const [one, other] = [fleet.ledger(), fleet.ledger()];
    await begin(one, callOf("running"));
    await begin(one, callOf("released"));
    await one.release(callOf("released"));
    await begin(other, callOf("ended"));
    await other.settle(callOf("ended"), result("x"));
    const keys = await fleet.keys();
    expect(keys.length).toBeGreaterThan(7);
    for (const key of keys) expect([key, (await connection.client.pttl(key)) > 0]).toEqual([key, true]);
    const ended = await connection.client.pttl(
      `${fleet.prefix}call:${Buffer.from(callOf("ended").digest).toString("hex")}`,
    );
    expect(ended).toBeLessThanOrEqual(TTL_MS);
  });

  test("are results that can be read, or that cannot where there is a secret", async () => {
    for (const secret of [undefined, SECRET]) {
      const fleet = openFleet({ secret });
      const ledger = fleet.ledger();
      const { digest: of } = await begin(ledger, callOf("k"));
      await ledger.settle(callOf("k"), result("the result itself"));
      const fields = JSON.stringify(await connection.client.hgetall(`${fleet.prefix}call:${of}`));
      expect(fields.includes("itself")).toBe(secret === undefined);
    }
  });

  test("is refused where it is another call's, or was sealed with another secret", async () => {
    const fleet = openFleet({ secret: SECRET });
    const ledger = fleet.ledger();
    const tickets = [];
    for (const key of ["a", "b"]) {
      tickets.push(await begin(ledger, callOf(key)));
      await ledger.settle(callOf(key), result(key));
    }
    const [a, b] = tickets.map(({ digest: of }) => `${fleet.prefix}call:${of}`);
    await connection.client.hset(`${b}`, "result", (await connection.client.hget(`${a}`, "result")) ?? "");
    await expect(ledger.claim(callOf("b"), NEVER, 1)).rejects.toThrow(/another place/);
    for (const secret of [undefined, "another secret of it"]) {
      await expect(fleet.ledger({ secret }).claim(callOf("a"), NEVER, 1)).rejects.toThrow(/not what was kept/);
    }
  });

  test("is forgotten when it has expired: books, and calls that began and whose process is gone", async () => {
    const fleet = openFleet({ ttlMs: 1 });
    const ledger = fleet.ledger();
    for (let at = 0; at < 60; at++) {
      await begin(ledger, callOf(`${at}`, `t${at}`));
      if (at % 2 === 0) await ledger.settle(callOf(`${at}`, `t${at}`), result("x"));
    }
    const room = { ttlMs: 1, maxEntries: 1, maxBytes: 1 };
    const calls = new RedisCalls(connection, { fleet: fleet.fleet, room, seal: Seal.of(undefined) });
    await calls.sweep();
    const running = await connection.client.zcard(`${fleet.prefix}begun`);
    await fleet.forgetProcesses();
    // Those that were there have got a delay.
    await calls.sweep(Date.now() + 3 * TTL_MS);
    expect(running).toBe(30);
    expect((await fleet.keys()).map((key) => key.slice(fleet.prefix.length))).toEqual(["books"]);
    expect(await connection.client.hmget(`${fleet.prefix}books`, "calls", "bytes")).toEqual(["0", "0"]);
  });
});

describe("a claim", () => {
  test("that is sent twice, because a connection was lost in between, is the holder's", async () => {
    const { fleet } = openFleet();
    const room = { ttlMs: TTL_MS, maxEntries: 10, maxBytes: 1024 ** 2 };
    const calls = new RedisCalls(connection, { fleet, room, seal: Seal.of(undefined) });
    expect(await calls.claim(callOf("k"), "process:1")).toEqual({ kind: "mine" });
    expect(await calls.claim(callOf("k"), "process:1")).toEqual({ kind: "mine" });
    expect(await calls.claim(callOf("k"), "process:2")).toEqual({ kind: "unknown", hasEnded: false });
    expect(await calls.claim(callOf("k"), "other:1")).toEqual({ kind: "running" });
  });

  test("by which nobody knows what he has, because Redis was silent, is given back", { timeout: 120_000 }, async () => {
    const ledger = openFleet().ledger();
    await begin(ledger, callOf("first"));
    await connection.client.call("CLIENT", "PAUSE", "60000", "WRITE");
    await expect(ledger.claim(callOf("k"), NEVER, 1)).rejects.toThrow("did not respond");
    await connection.client.call("CLIENT", "UNPAUSE");
    await expect.poll(() => ledger.claim(callOf("k"), NEVER, 1)).toEqual({ kind: "mine" });
  });
});

describe("a Redis that goes away and comes back", () => {
  test(
    "refuses claims meanwhile without saying where it is, and is used again then",
    { timeout: 120_000 },
    async () => {
      await using own = await startRedis();
      const ledger = openFleet({ url: own.url.replace("//", "//user-itself:password-itself@") }).ledger();
      await expect(ledger.claim(callOf("k"), NEVER, 1)).rejects.toThrow(
        expect.objectContaining({ name: "StoreError", message: expect.not.stringMatching(/itself|127|\d{4}/) }),
      );
      const plain = openFleet({ url: own.url }).ledger();
      await begin(plain, callOf("before"));
      await own.stop();
      await expect(plain.claim(callOf("k"), NEVER, 1)).rejects.toThrow(
        expect.objectContaining({ name: "StoreError", message: expect.not.stringMatching(/127|\d{4}/) }),
      );
      await own.start();
      await expect
        .poll(() => plain.claim(callOf("k"), NEVER, 1).catch(() => null), { timeout: 60_000 })
        .toEqual({ kind: "mine" });
    },
  );

  test("hears then how a call ended that it was there for", { timeout: 120_000 }, async () => {
    await using own = await startRedis();
    const fleet = openFleet({ url: own.url });
    const [ledger, other] = [fleet.ledger(), fleet.ledger()];
    await begin(ledger, callOf("k"));
    await own.stop();
    await expect(ledger.settle(callOf("k"), result("x"))).rejects.toThrow("did not respond");
    await own.start();
    const asked = () => other.claim(callOf("k"), NEVER, 1).catch(() => null);
    await expect.poll(asked, { timeout: 60_000 }).toEqual({ kind: "kept", result: result("x") });
  });
});

test("a ledger works on a cluster", { timeout: 120_000 }, async () => {
  const args = ["--cluster-enabled yes", `--cluster-port ${await freePort()}`, "--cluster-announce-ip 127.0.0.1"];
  await using own = await startRedis({ args: args.flatMap((each) => each.split(" ")) });
  await using node = RedisConnection.open(own.url, "test");
  await node.client.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  await expect.poll(() => node.client.call("CLUSTER", "INFO"), { timeout: 60_000 }).toContain("cluster_state:ok");
  const fleet = openFleet({ url: own.url.replace("redis:", "redis+cluster:"), maxEntries: 1 });
  const [ledger, other] = [fleet.ledger(), fleet.ledger()];
  for (const key of ["evicted", "released", "k"]) {
    await begin(ledger, callOf(key));
    await (key === "released" ? ledger.release(callOf(key)) : ledger.settle(callOf(key), result(key)));
  }
  expect(await other.claim(callOf("k"), NEVER, 1)).toEqual({ kind: "kept", result: result("k") });
  expect(await other.claim(callOf("evicted"), NEVER, 1)).toEqual({ kind: "mine" });
});

test("a ledger connects when it is first used, and no more after it was closed", async () => {
  await using own = await startRedis();
  await using client = RedisConnection.open(own.url, "test");
  const connected = async () => String(await client.client.call("CLIENT", "LIST")).includes("glovebox-ledger");
  const ledger = openFleet({ url: own.url }).ledger();
  expect(await connected()).toBe(false);
  await begin(ledger, callOf("k"));
  expect(await connected()).toBe(true);
  await ledger.close();
  await expect.poll(connected).toBe(false);
  await expect(ledger.claim(callOf("k"), NEVER, 1)).rejects.toThrow("has closed");
});
