import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { describeRestarts } from "../../kernel/engine/durable/restarts.ts";
import { type RedisServer, startRedis } from "../../redis-server.ts";

let folder: string;
let redis: RedisServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-waits-"));
  redis = await startRedis();
});
afterAll(async () => {
  await redis[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

describeRestarts(
  () => folder,
  (name) => `${redis.url}#${name}`,
);
