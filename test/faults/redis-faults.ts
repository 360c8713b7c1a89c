/** Faults of the Redis of a fleet, and of one that has nothing but idempotency keys. */
import { setTimeout as delay } from "node:timers/promises";
import { startSentinels } from "../fleet/topologies.ts";
import { connectTo } from "../redis-server.ts";
import type { RedisConnection } from "../../src/fleet/redis/connection.ts";
import type { RunningFault } from "./fault.ts";
import type { SceneSettings } from "./scene.ts";

const FLEET: SceneSettings = { machines: 1 };
const DOWN = /^glovebox_redis_up\{use="fleet"\} 0/;
const PASSWORD = "another one";

/** Does something to a Redis as its administrator. */
async function asAdmin(url: string, act: (client: RedisConnection["client"]) => Promise<unknown>): Promise<void> {
  await using admin = await connectTo(url);
  await act(admin.client);
}

/** Has Redis another setting for a while. */
function set(setting: string, value: string, back: string): RunningFault["bring"] {
  return async ({ redis }) => {
    await asAdmin(redis.url, (client) => client.config("SET", setting, value));
    return () => asAdmin(redis.url, (client) => client.config("SET", setting, back));
  };
}

function ofFleet(fault: Pick<RunningFault, "name" | "what" | "bring" | "sees">): RunningFault {
  return { place: "redis", needs: ["redis"], settings: FLEET, ...fault };
}

const OF_FLEETS: readonly RunningFault[] = [
  ofFleet({
    name: "redis-killed",
    what: "The fleet's Redis is killed (SIGKILL), and started again with its append-only file.",
    bring: async ({ redis }) => {
      await redis.stop("SIGKILL");
      return () => redis.start();
    },
    sees: { log: /Redis cannot be reached/, metric: DOWN, ready: { status: 503 }, lastsMs: 2_000 },
  }),
  ofFleet({
    name: "redis-away",
    what: "The fleet's Redis is stopped for 15 s, longer than `executor.lostMs`.",
    bring: async ({ redis }) => {
      await redis.stop("SIGTERM");
      return () => redis.start();
    },
    sees: {
      code: "executor_lost",
      log: /Redis cannot be reached/,
      metric: DOWN,
      ready: { status: 503 },
      lastsMs: 15_000,
    },
  }),
  ofFleet({
    name: "redis-paused",
    what: "The fleet's Redis is paused (SIGSTOP): all connections are open, and silent.",
    bring: async ({ redis }) => {
      redis.signal("SIGSTOP");
      return async () => redis.signal("SIGCONT");
    },
    sees: { log: /Redis does not answer in time/, metric: DOWN, ready: { status: 503 } },
  }),
  ofFleet({
    name: "redis-full",
    what: "The fleet's Redis has reached its `maxmemory`.",
    bring: set("maxmemory", "1", "0"),
    sees: { log: /Redis is full/, metric: DOWN, ready: { status: 503, says: /full/ } },
  }),
  ofFleet({
    name: "redis-replicas-missing",
    what: "The fleet's Redis lacks replicas to which it has to write.",
    bring: set("min-replicas-to-write", "1", "0"),
    sees: { log: /too few of its replicas/, metric: DOWN, ready: { status: 503, says: /NOREPLICAS/ } },
  }),
  ofFleet({
    name: "redis-read-only",
    what: "The fleet's Redis becomes the replica of another one, and refuses writes.",
    bring: async ({ redis }) => {
      await asAdmin(redis.url, (client) => client.call("REPLICAOF", "127.0.0.1", "1"));
      return () => asAdmin(redis.url, (client) => client.call("REPLICAOF", "NO", "ONE"));
    },
    sees: { log: /Redis is a replica/, metric: DOWN, ready: { status: 503, says: /replica/ } },
  }),
  ofFleet({
    name: "redis-password-changed",
    what: "The password of the fleet's Redis becomes another one, and all connections are closed.",
    bring: async ({ redis }) => {
      await asAdmin(redis.url, async (client) => {
        await client.config("SET", "requirepass", PASSWORD);
        await client.call("CLIENT", "KILL", "TYPE", "normal");
      });
      const url = redis.url.replace("//", `//:${encodeURIComponent(PASSWORD)}@`);
      return () => asAdmin(url, (client) => client.config("SET", "requirepass", ""));
    },
    sees: { log: /Redis refused the login/, metric: DOWN, ready: { status: 503, says: /login/ } },
  }),
  ofFleet({
    name: "redis-forgets",
    what: "The fleet's Redis loses all that it has (`FLUSHALL`).",
    bring: async ({ redis }) => {
      await asAdmin(redis.url, (client) => client.call("FLUSHALL"));
      return null;
    },
    sees: { lastsMs: 5_000 },
  }),
  ofFleet({
    name: "redis-connections-cut",
    what: "All connections to the fleet's Redis are closed, five times.",
    bring: async ({ redis }) => {
      await asAdmin(redis.url, async (client) => {
        for (let time = 0; time < 5; time++) {
          await client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
          await delay(300);
        }
      });
      return null;
    },
    sees: { lastsMs: 2_000 },
  }),
  {
    name: "redis-fails-over",
    place: "redis",
    what: "The master of the fleet's Redis is killed, and sentinels make its replica the master.",
    needs: ["redis"],
    settings: {
      machines: 1,
      startRedis: async (owned) => {
        const sentinels = owned.use(await startSentinels());
        return { server: sentinels.master, url: sentinels.url };
      },
    },
    bring: async ({ redis }) => {
      await redis.stop("SIGKILL");
      return null;
    },
    sees: { log: /Redis/, metric: DOWN, ready: { status: 503 } },
  },
];

const OF_KEYS: readonly RunningFault[] = [
  {
    name: "key-redis-stopped",
    place: "redis",
    what: "The Redis of idempotency keys is stopped; the server has executors of its own.",
    needs: ["redis"],
    settings: { store: "redis" },
    bring: async ({ redis }) => {
      await redis.stop("SIGTERM");
      return () => redis.start();
    },
    sees: {
      code: "store_failed",
      log: /Redis cannot be reached/,
      metric: /^glovebox_redis_up\{use="idempotency"\} 0/,
      ready: { status: 200, says: /ECONNREFUSED|Redis/ },
    },
  },
  {
    name: "key-redis-full",
    place: "redis",
    what: "The Redis of idempotency keys has reached its `maxmemory`.",
    needs: ["redis"],
    settings: { store: "redis" },
    bring: set("maxmemory", "1", "0"),
    sees: {
      code: "store_failed",
      log: /Redis is full/,
      metric: /^glovebox_redis_up\{use="idempotency"\} 0/,
      ready: { status: 200, says: /full/ },
    },
  },
];

export const REDIS_FAULTS: readonly RunningFault[] = [...OF_FLEETS, ...OF_KEYS];
