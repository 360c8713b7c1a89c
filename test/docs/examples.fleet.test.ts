import { expect, test } from "vitest";
import { startRedis } from "../redis-server.ts";
import { runExample } from "./run-example.ts";

test("the example fleet prints what its README says", async () => {
  await using redis = await startRedis();
  const { expected, printed } = await runExample("fleet", { REDIS_URL: redis.url });
  expect(printed).toBe(expected);
}, 300_000);
