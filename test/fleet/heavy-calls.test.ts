import { expect, test } from "vitest";
import { createEngine } from "../../src/engine.ts";
import { startRedis } from "../redis-server.ts";
import { startMachineProcess } from "./fleet.ts";
import { slowWayTo } from "./slow-redis.ts";

const MIB = 1024 * 1024;
/** Altogether they take longer than a member of a fleet may be silent, and a job without a word of its machine. */
const [CALLS, CALL_BYTES, BYTES_PER_S] = [6, 8 * MIB, 4 * MIB];

test("a machine with long outputs on a slow way to Redis is there all the while, and keeps its jobs", async () => {
  await using redis = await startRedis();
  await using slow = await slowWayTo(redis.port, BYTES_PER_S);
  await using _one = await startMachineProcess(slow.url, "test", { slots: CALLS });
  await using engine = await createEngine({
    executor: { kind: "queue", url: redis.url, fleet: "test" },
    limits: { outputBytes: 2 * CALL_BYTES, wallMs: 120_000 },
    maxLimits: { outputBytes: 2 * CALL_BYTES, wallMs: 120_000 },
    tools: [{ name: "long", description: "d", source: `export default () => "x".repeat(${CALL_BYTES})` }],
  });
  const left: string[] = [];
  engine.on("fleet:leave", ({ machine }) => left.push(machine));
  const results = await Promise.all(
    Array.from({ length: CALLS }, () => engine.execute({ name: "long", arguments: {} })),
  );
  expect(results.map(({ error, output }) => [error, String(output).length])).toEqual(
    results.map(() => [null, CALL_BYTES]),
  );
  expect(results.map(({ metadata }) => metadata.attempts)).toEqual(results.map(() => 1));
  expect(left).toEqual([]);
});
