import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { FleetKeys } from "../../../src/fleet/wire/keys.ts";
import { countServers, Heartbeat, type MemberOptions } from "../../../src/fleet/wire/members.ts";
import { Seal } from "../../../src/kernel/store/seal.ts";
import { type RedisServer, startRedis } from "../../redis-server.ts";
import { TIMINGS } from "../fleet.ts";

const HOUR_MS = 3_600_000;
const [RIGHT, WRONG] = ["server-0000000000000001", "server-0000000000000002"];

let redis: RedisServer;
let options: MemberOptions;

beforeAll(async () => {
  redis = await startRedis();
  const keys = new FleetKeys("test");
  const connection = RedisConnection.open(redis.url, "test", { key: keys.prefix });
  await connection.ready(10_000);
  options = { connection, keys, seal: Seal.of(undefined), timings: TIMINGS };
});
afterAll(async () => {
  await options.connection.close();
  await redis[Symbol.asyncDispose]();
});

test.each([
  ["two minutes ahead", HOUR_MS / 30],
  ["two hours ahead", 2 * HOUR_MS],
  ["two hours behind", -2 * HOUR_MS],
])("a member whose clock is %s removes no other from the fleet, and is not removed", async (_what, aheadMs) => {
  const [right, wrong] = [RIGHT, WRONG].map((id) => new Heartbeat(options, "server", id, () => "{}"));
  await right?.beat();
  const now = Date.now;
  {
    using _clock = vi.spyOn(Date, "now").mockImplementation(() => now() + aheadMs);
    await wrong?.beat();
  }
  expect(await countServers(options)).toEqual({ own: 2, foreign: 0 });
  await right?.beat();
  expect(await countServers(options)).toEqual({ own: 2, foreign: 0 });
});
