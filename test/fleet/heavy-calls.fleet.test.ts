import { expect, test } from "vitest";
import { startRedis } from "../redis-server.ts";
import { createFleetEngine, startMachineProcess } from "./fleet.ts";
import { slowWayTo } from "./slow-redis.ts";

const MIB = 1024 * 1024;
/** Altogether they take longer than a member of a fleet may be silent, and a job without a word of its machine. */
const [CALLS, CALL_BYTES, BYTES_PER_S] = [6, 2 * MIB, 4 * MIB];

/** Calls with long outputs, all at once: how they ended, and which machines the server has missed meanwhile. */
async function callAll(server: string) {
  await using engine = await createFleetEngine({
    executor: { kind: "queue", url: server, fleet: "test" },
    limits: { outputBytes: 2 * CALL_BYTES, wallMs: 120_000 },
    maxLimits: { outputBytes: 2 * CALL_BYTES, wallMs: 120_000 },
    tools: [{ name: "long", description: "d", source: `export default () => "x".repeat(${CALL_BYTES})` }],
  });
  const left: string[] = [];
  engine.on("fleet:leave", ({ machine }) => left.push(machine));
  const call = () => engine.execute({ name: "long", arguments: {} });
  const results = await Promise.all(Array.from({ length: CALLS }, call));
  const ends = results.map(({ error, output, metadata }) => [error, String(output).length, metadata.attempts]);
  return { ends, left };
}

const ALL_ONCE = { ends: Array.from({ length: CALLS }, () => [null, CALL_BYTES, 1]), left: [] };

test("a machine with long outputs on a slow way to Redis is there all the while, and keeps its jobs", async () => {
  await using redis = await startRedis();
  await using slow = await slowWayTo(redis.port, BYTES_PER_S);
  await using _one = await startMachineProcess(slow.url, "test", { slots: CALLS });
  expect(await callAll(redis.url)).toEqual(ALL_ONCE);
});

test("a server that is slow to read long outputs takes no job for lost whose end lies in its box", async () => {
  await using redis = await startRedis();
  await using slow = await slowWayTo(redis.port, BYTES_PER_S);
  await using _one = await startMachineProcess(redis.url, "test", { slots: CALLS });
  expect(await callAll(slow.url)).toEqual(ALL_ONCE);
});
