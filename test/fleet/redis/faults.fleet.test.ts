import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { connectTo, freePort, type RedisServer, startRedis } from "../../redis-server.ts";

const LONG_MS = 120_000;
const soon = { timeout: LONG_MS, interval: 20 };

let redis: RedisServer;
let admin: RedisConnection;

beforeAll(async () => {
  redis = await startRedis();
  admin = await connectTo(redis.url);
  await admin.client.acl("SETUSER", "reader", "on", ">secret", "~*", "+@read", "+info", "+eval");
});
afterAll(async () => {
  await admin.close();
  await redis[Symbol.asyncDispose]();
});

describe("a connection that cannot be", () => {
  test.each([
    ["to a single server as if it were a cluster", (port: number) => `redis+cluster://127.0.0.1:${port}`, "cluster"],
    ["to a server as if it were a sentinel", (port: number) => `redis+sentinel://127.0.0.1:${port}/main`, "sentinel"],
    ["to a database that is not there", (port: number) => `redis://127.0.0.1:${port}/99`, "database"],
    ["of an unknown user", (port: number) => `redis://nobody:secret@127.0.0.1:${port}`, "login"],
  ])("%s is given up at once, with the reason", async (_what, urlOf, kind) => {
    await using connection = RedisConnection.open(urlOf(redis.port), "test");
    expect(await connection.reached(LONG_MS)).toBe(false);
    expect(connection.problem).toMatchObject({ kind, isLasting: true });
  });

  test("because nothing listens is waited for, with the reason", async () => {
    await using connection = RedisConnection.open(`redis://127.0.0.1:${await freePort()}`, "test");
    const problem = { kind: "unreachable", code: "ECONNREFUSED", isLasting: false };
    await expect.poll(() => connection.problem, soon).toMatchObject(problem);
    expect(await connection.reached(300)).toBe(false);
  });

  test("with the database of the URL never writes to another one", async () => {
    await using connection = RedisConnection.open(`${redis.url}/99`, "test");
    const writing = connection.client.set("stray", "1").catch(() => undefined);
    expect(await connection.ready(500)).toBe(false);
    expect(await admin.client.exists("stray")).toBe(0);
    await connection.close();
    await writing;
  });
});

describe("a connection over which commands are refused", () => {
  test("for lack of memory names it, also in scripts, and no more when there is room again", async () => {
    await using connection = await connectTo(redis.url);
    await admin.client.config("SET", "maxmemory", "1");
    await expect(connection.client.eval("return redis.call('SET', KEYS[1], 1)", 1, "a")).rejects.toThrow("OOM");
    expect(connection.problem).toMatchObject({ kind: "full", code: "OOM" });
    expect(connection.isReady).toBe(true);
    await admin.client.config("SET", "maxmemory", "0");
    await expect.poll(() => connection.problem, soon).toBeNull();
  });

  test("by an ACL names the command, or that it is in a script", async () => {
    await using connection = await connectTo(redis.url.replace("//", "//reader:secret@"));
    await expect(connection.client.eval("return redis.call('SET', KEYS[1], 1)", 1, "a")).rejects.toThrow();
    expect(connection.problem).toMatchObject({ kind: "permission" });
    await expect(connection.client.set("a", "1")).rejects.toThrow("NOPERM");
    expect(connection.problem?.what).toBe("does not permit set to the user of the URL");
  });

  test("says so on the connections that belong to it", async () => {
    await using connection = await connectTo(redis.url.replace("//", "//reader:secret@"));
    await using another = connection.another("other");
    expect(await another.ready(LONG_MS)).toBe(true);
    await expect(another.client.set("a", "1")).rejects.toThrow("NOPERM");
    expect(connection.problem).toMatchObject({ kind: "permission" });
  });

  test("because it is a replica says so", async () => {
    await using replica = await startRedis({ args: ["--replicaof", "127.0.0.1", `${redis.port}`] });
    await using connection = await connectTo(replica.url);
    await expect(connection.client.set("a", "1")).rejects.toThrow("READONLY");
    expect(connection.problem).toMatchObject({ kind: "replica" });
  });
});
