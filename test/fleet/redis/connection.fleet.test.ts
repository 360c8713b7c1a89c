import { once } from "node:events";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { connectTo, freePort, type RedisServer, startRedis } from "../../redis-server.ts";

const LONG_MS = 120_000;
const soon = { timeout: LONG_MS, interval: 20 };

describe("a connection to a server", () => {
  test.each(["SIGTERM", "SIGKILL"] as const)(
    "is there again after a restart by %s, and what was asked meanwhile is answered then",
    async (signal) => {
      await using redis = await startRedis();
      await using connection = await connectTo(redis.url);
      await connection.client.set("key", "value");
      expect(connection.lostForMs).toBe(0);
      await redis.stop(signal);
      await expect.poll(() => connection.isReady, soon).toBe(false);
      const asked = connection.client.get("key");
      await expect.poll(() => connection.lostForMs, soon).toBeGreaterThan(100);
      await expect.poll(() => connection.failure, soon).toBe("ECONNREFUSED");
      await redis.start();
      expect(await asked).toBe("value");
      expect(connection.isReady).toBe(true);
      expect(connection.lostForMs).toBe(0);
    },
  );

  test("is lost when the server is silent though something is asked, and there again when it speaks", async () => {
    await using redis = await startRedis();
    await using connection = await connectTo(redis.url);
    redis.signal("SIGSTOP");
    const asked = connection.client.set("key", "value");
    await expect.poll(() => connection.isReady, soon).toBe(false);
    expect(connection.failure).toBe("ETIMEDOUT");
    redis.signal("SIGCONT");
    expect(await asked).toBe("OK");
  });

  test("says of a place where nothing is that it is not ready, when the time is up, as often as it is asked", async () => {
    await using connection = RedisConnection.open(`redis://127.0.0.1:${await freePort()}`, "test");
    const before = connection.client.listenerCount("ready");
    for (let times = 0; times < 20; times++) expect(await connection.ready(10)).toBe(false);
    await expect.poll(() => connection.failure, soon).toBe("ECONNREFUSED");
    expect(connection.client.listenerCount("ready")).toBe(before);
  });

  test("has a name that the server shows, and another one has another", async () => {
    await using redis = await startRedis();
    await using connection = await connectTo(redis.url);
    await using another = connection.another("mail");
    expect(await another.ready(LONG_MS)).toBe(true);
    const names = String(await connection.client.client("LIST")).match(/(?<= name=)\S+/g);
    expect(names).toEqual(expect.arrayContaining(["test", "test:mail"]));
  });

  test("moves on when what it writes to has become a replica, and writes where a master is again", async () => {
    await using master = await startRedis();
    await using redis = await startRedis();
    await using connection = await connectTo(redis.url);
    const id = await connection.client.client("ID");
    await connection.client.replicaof("127.0.0.1", `${master.port}`);
    await expect(connection.client.set("key", "value")).rejects.toThrow("READONLY");
    await expect.poll(() => connection.client.client("ID"), soon).not.toBe(id);
    await connection.client.replicaof("NO", "ONE");
    expect(await connection.client.set("key", "value")).toBe("OK");
  });
});

describe("a password", () => {
  test("that is right lets a connection in, whatever is in it", async () => {
    const password = 'p@ss:w/rd %25 "é"';
    await using redis = await startRedis();
    await protect(redis, password);
    await using connection = await connectTo(redis.url.replace("//", `//:${encodeURIComponent(password)}@`));
    expect(await connection.client.ping()).toBe("PONG");
  });

  test.each([
    ["that is wrong", ":wrong-secret@", "WRONGPASS"],
    ["that is missing", "", "NOAUTH"],
    ["of a user whom nobody knows", "ada:right-secret@", "WRONGPASS"],
  ])("%s leaves it out, with a code that says why, and what was asked ends with it", async (_what, access, code) => {
    await using redis = await startRedis();
    await protect(redis, "right-secret");
    const connection = RedisConnection.open(redis.url.replace("//", `//${access}`), "test");
    const asked = connection.client.get("key").catch((error: unknown) => inspect(error, { depth: 9 }));
    await expect.poll(() => connection.failure, soon).toBe(code);
    expect(await connection.ready(300)).toBe(false);
    await connection.close();
    expect(await asked).toContain(code);
    expect(await asked).not.toMatch(/"?AUTH"?,|secret/);
  });

  test("that becomes right lets a connection in that tried before", async () => {
    await using redis = await startRedis();
    await protect(redis, "old");
    await using connection = RedisConnection.open(redis.url.replace("//", "//:new@"), "test");
    await expect.poll(() => connection.failure, soon).toBe("WRONGPASS");
    await using keeper = await connectTo(redis.url.replace("//", "//:old@"));
    await protect(redis, "new", keeper);
    expect(await connection.ready(LONG_MS)).toBe(true);
  });
});

describe("a closed connection", () => {
  test("rejects what waited for the next attempt, and whatever is asked of it", async () => {
    const connection = RedisConnection.open(`redis://127.0.0.1:${await freePort()}`, "test");
    await expect.poll(() => connection.client.status, soon).toBe("reconnecting");
    const asked = connection.client.get("key");
    await Promise.all([connection.close(), expect(asked).rejects.toThrow("Connection is closed")]);
    await expect(connection.client.get("key")).rejects.toThrow("Connection is closed");
    expect(connection.isReady).toBe(false);
  });

  test("rejects what waited for a silent server, and leaves no socket", async () => {
    await using redis = await startRedis();
    const connection = await connectTo(redis.url);
    redis.signal("SIGSTOP");
    const asked = connection.client.get("key");
    await Promise.all([connection.close(), expect(asked).rejects.toThrow()]);
    expect(connection.client.status).toBe("end");
  });

  test("rejects what was under way when the server fell silent, also after it was reached again without success", async () => {
    await using redis = await startRedis();
    const connection = await connectTo(redis.url);
    redis.signal("SIGSTOP");
    const asked = connection.client.get("key");
    await expect.poll(() => connection.isReady, soon).toBe(false);
    await expect.poll(() => connection.client.status, soon).toBe("connect");
    await Promise.all([connection.close(), expect(asked).rejects.toThrow("Connection is closed")]);
  });

  test("may be closed before it has begun, twice at once, and once more", async () => {
    await using redis = await startRedis();
    const connection = RedisConnection.open(redis.url, "test");
    const ended = once(connection.client, "end");
    await Promise.all([connection.close(), connection.close()]);
    await ended;
    await connection.close();
    expect(connection.isReady).toBe(false);
  });
});

/** Gives a server a password; by a connection that it knows, where it has one already. */
async function protect(redis: RedisServer, password: string, keeper?: RedisConnection): Promise<void> {
  await using own = keeper === undefined ? await connectTo(redis.url) : null;
  await (own ?? keeper)?.client.config("SET", "requirepass", password);
}
