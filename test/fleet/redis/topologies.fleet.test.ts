import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { type RedisCluster, startCluster, startSentinels } from "../topologies.ts";
import { connectTo, freePort, type RedisServer } from "../../redis-server.ts";

const LONG_MS = 120_000;
/** How long the last of a closed connection's sockets may take to end. */
const SOCKETS_END_MS = 2_000;
const soon = { timeout: LONG_MS, interval: 20 };
const KEY = "{glovebox:x}:key";

describe("a connection by sentinels", () => {
  test("goes to the new master when the old one is killed, and stays there when that comes back", async () => {
    await using sentinels = await startSentinels("p@ss:word");
    await using connection = await connectTo(sentinels.url, { key: KEY });
    await connection.client.set(KEY, "value");
    expect(await connection.client.wait(1, LONG_MS)).toBe(1);
    await sentinels.master.stop("SIGKILL");
    await expect.poll(() => connection.isReady, soon).toBe(false);
    const asked = connection.client.get(KEY);
    expect(await connection.ready(LONG_MS)).toBe(true);
    expect(await asked).toBe("value");
    // The other sentinels hear of the failover from the one that led it.
    await expect.poll(() => sentinels.masterPort(), soon).toBe(sentinels.replica.port);
    await sentinels.master.start();
    expect(await connection.client.set(KEY, "new")).toBe("OK");
    await using late = await connectTo(sentinels.url, { key: KEY });
    expect(await late.client.get(KEY)).toBe("new");
  });

  test("goes to the new master when the old one falls silent", async () => {
    await using sentinels = await startSentinels();
    await using connection = await connectTo(sentinels.url, { key: KEY });
    sentinels.master.signal("SIGSTOP");
    const asked = connection.client.set(KEY, "value");
    await expect.poll(() => connection.isReady, soon).toBe(false);
    expect(await connection.ready(LONG_MS)).toBe(true);
    expect(await asked).toBe("OK");
    expect(await connection.client.role()).toContain("master");
  });

  test("asks the next sentinel where one is silent", async () => {
    await using sentinels = await startSentinels();
    sentinels.signal(0, "SIGSTOP");
    await using connection = await connectTo(sentinels.url, { key: KEY });
    expect(await connection.client.ping()).toBe("PONG");
  });

  test("says why there is no connection where no sentinel is, and ends what waits when it is closed", async () => {
    const connection = RedisConnection.open(`redis+sentinel://127.0.0.1:${await freePort()}/main`, "test");
    await expect.poll(() => connection.failure, soon).toBe("UNREACHABLE");
    const asked = connection.client.get(KEY);
    await Promise.all([connection.close(), expect(asked).rejects.toThrow()]);
  });
});

describe("a connection to a cluster", () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startCluster();
  }, LONG_MS);

  afterAll(() => cluster[Symbol.asyncDispose]());

  test("is lost with the node that has its key, and there again with it: what was asked is answered", async () => {
    await using connection = await connectTo(cluster.url, { key: KEY });
    await connection.client.set(KEY, "value");
    const node = await cluster.nodeOf(KEY);
    await node.stop("SIGKILL");
    const asked = connection.client.get(KEY);
    await expect.poll(() => connection.isReady, soon).toBe(false);
    // A cluster's client says the one or the other.
    await expect.poll(() => connection.failure, soon).toMatch(/^(?:ECONNREFUSED|UNREACHABLE)$/);
    expect(connection.lostForMs).toBeGreaterThan(0);
    await node.start();
    expect(await asked).toBe("value");
    expect(await connection.ready(LONG_MS)).toBe(true);
  });

  test("is lost when the node that has its key falls silent, and there again when it speaks", async () => {
    await using connection = await connectTo(cluster.url, { key: KEY });
    const node = await cluster.nodeOf(KEY);
    node.signal("SIGSTOP");
    const asked = connection.client.set(KEY, "value");
    await expect.poll(() => connection.isReady, soon).toBe(false);
    node.signal("SIGCONT");
    expect(await asked).toBe("OK");
    expect(await connection.ready(LONG_MS)).toBe(true);
  });

  test("does several things in one transaction where their keys have one hash tag, and refuses where they have not", async () => {
    await using connection = await connectTo(cluster.url, { key: KEY });
    const done = await connection.client.multi().set("{t}:a", 1).set("{t}:b", 2).exec();
    expect(done).toEqual([
      [null, "OK"],
      [null, "OK"],
    ]);
    await expect(connection.client.mget("{t}:a", "{u}:a")).rejects.toThrow();
  });

  test("rejects whatever is asked of it once it is closed, though no node answered that", async () => {
    const connection = await connectTo(cluster.url, { key: KEY });
    for (const node of cluster.nodes) node.signal("SIGSTOP");
    await connection.close();
    for (const node of cluster.nodes) node.signal("SIGCONT");
    await delay(SOCKETS_END_MS);
    expect(connection.isReady).toBe(false);
    await expect(connection.client.get(KEY)).rejects.toThrow("Connection is closed");
  });

  test("rejects what waits for a cluster that is not there when it is closed", async () => {
    const connection = RedisConnection.open(`redis+cluster://127.0.0.1:${await freePort()}`, "test");
    await expect.poll(() => connection.failure, soon).toBe("UNREACHABLE");
    const asked = connection.client.get(KEY);
    await Promise.all([connection.close(), expect(asked).rejects.toThrow()]);
  });
});

test("a connection to a cluster goes to the replica that takes the place of its node", async () => {
  await using cluster = await startCluster(1);
  await using connection = await connectTo(cluster.url, { key: KEY });
  const node = await cluster.nodeOf(KEY);
  await setAtReplica(node, "value");
  await node.stop("SIGKILL");
  // The replica may be there before anybody has noticed that the node is not.
  expect(await connection.client.get(KEY)).toBe("value");
  expect(await connection.ready(LONG_MS)).toBe(true);
  // The other nodes hear of the failover one after another.
  await expect.poll(() => cluster.nodeOf(KEY), soon).not.toBe(node);
});

/** Writes at a node, and waits for its replica: a node that is killed loses what it alone has. */
async function setAtReplica(node: RedisServer, value: string): Promise<void> {
  await using direct = await connectTo(node.url);
  await direct.client.set(KEY, value);
  expect(await direct.client.wait(1, LONG_MS)).toBe(1);
}
