import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import type { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import type { RedisDown } from "../../../src/kernel/store/outage.ts";
import { connectTo, type RedisServer, startRedis } from "../../redis-server.ts";

const soon = { timeout: 120_000, interval: 50 };
const SECRET = "hush-hush-hush-hush";

let redis: RedisServer;
let admin: RedisConnection;

beforeAll(async () => {
  redis = await startRedis();
  admin = await connectTo(redis.url);
});
afterAll(async () => {
  await admin.close();
  await redis[Symbol.asyncDispose]();
});

function open(url: string): Promise<Engine> {
  return createEngine({
    workers: 1,
    executor: "threads",
    kv: { url },
    idempotency: { url },
    calls: { url, secret: SECRET },
  });
}

test("an engine says of its stores in Redis that they are lost, why, what it means, and that they are back", async () => {
  await using engine = await open(redis.url);
  const told: RedisDown[] = [];
  engine.on("redis:down", (event) => told.push(event));
  expect(engine.stats().redis).toBeUndefined();
  for (const use of ["kv", "idempotency", "calls"])
    expect(await engine.metrics()).toContain(`glovebox_redis_up{use="${use}"} 1`);
  await redis.stop();
  await expect
    .poll(() => engine.stats().redis, soon)
    .toMatchObject([
      {
        uses: ["kv", "idempotency", "calls"],
        problem: expect.stringMatching(
          /^Redis cannot be reached \(ECONNREFUSED\): requests of tools to kv fail, .*; check/,
        ),
        isLasting: false,
      },
    ]);
  expect(told).toMatchObject([{ kind: "unreachable", code: "ECONNREFUSED" }]);
  expect(await engine.metrics()).toContain('glovebox_redis_up{use="kv"} 0');
  await redis.start();
  await expect.poll(() => engine.stats().redis, soon).toBeUndefined();
  expect(await engine.metrics()).toContain('glovebox_redis_up{use="kv"} 1');
});

test("an engine knows at its start that its store is full, or that its password is wrong", async () => {
  await admin.client.config("SET", "maxmemory", "1");
  await using full = await open(redis.url);
  expect(full.stats().redis).toMatchObject([{ problem: expect.stringContaining("its maxmemory is reached (OOM)") }]);
  await admin.client.config("SET", "maxmemory", "0");
  await using refused = await open(redis.url.replace("//", "//nobody:hush-hush@"));
  expect(refused.stats().redis).toMatchObject([{ isLasting: true }]);
  expect(JSON.stringify(refused.stats())).not.toContain("hush");
});
