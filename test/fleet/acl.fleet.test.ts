import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Engine } from "../../src/glovebox/index.ts";
import type { Machine } from "../../src/fleet/machine/machine.ts";
import { aclRules } from "../../src/fleet/redis/acl.ts";
import type { RedisConnection } from "../../src/fleet/redis/connection.ts";
import { connectTo, type RedisServer, startRedis } from "../redis-server.ts";
import { createFleetEngine } from "./fleet.ts";
import { machineIn } from "./siege.ts";

const FLEET = "acl";
const SECRET = "hush-hush-hush-hush";
const RULES = aclRules(FLEET).map(({ rule }) => rule);
/** Rules for what this suite does not do: a cluster, logins, and another database than 0; and one that only takes. */
const ELSEWHERE = ["+cluster|slots", "~{glovebox:acl:logins}:*", "+select", "-@dangerous"];

let redis: RedisServer;
let admin: RedisConnection;
let machine: Machine;
let engine: Engine;
const watching = new AbortController();

async function permit(rules: readonly string[]): Promise<void> {
  await admin.client.acl("SETUSER", "glovebox", "reset", "on", ">secret", ...rules);
}

async function denied(): Promise<readonly string[]> {
  const log = (await admin.client.acl("LOG")) as readonly (readonly unknown[])[];
  return log
    .map((entry) => `${String(entry[3])} ${String(entry[5])} ${String(entry[7])}`)
    .filter((entry) => !entry.includes("client|setinfo"));
}

beforeAll(async () => {
  redis = await startRedis();
  admin = await connectTo(redis.url);
  await permit(RULES);
  const url = redis.url.replace("//", "//glovebox:secret@");
  machine = await machineIn({ ...redis, url }, SECRET, [], { fleet: FLEET });
  const counts = {
    name: "count",
    description: "Counts its calls.",
    source: `export default async (_, { host }) => {
      // Long enough for a job of its own: several are sent together.
      let sum = 0;
      for (let i = 0; i < 4e6; i++) sum += i % 7;
      const at = ((await host.kv.get("n")) ?? 0) + 1;
      await host.kv.set("n", at);
      return at;
    }`,
    capabilities: { kv: true as const },
  };
  const shared = { url, fleet: FLEET, secret: SECRET };
  engine = await createFleetEngine({
    executor: { kind: "queue", ...shared },
    // Servers tell each other of room within these caps.
    queue: { perTenant: 200, perTool: 400, concurrency: 200 },
    kv: { url },
    idempotency: shared,
    calls: shared,
    policy: { rules: [{ allow: { kv: true } }] },
    tools: [counts, { name: "gated", description: "Waits.", approval: "always", source: "export default () => 1;" }],
  });
  // Somebody who watches makes servers tell each other of their calls.
  void engine.calls
    .watch({}, { signal: watching.signal })
    [Symbol.asyncIterator]()
    .next()
    .catch(() => undefined);
}, 300_000);
afterAll(async () => {
  watching.abort();
  await engine?.close({ drainMs: 0 });
  await machine?.close();
  await admin.close();
  await redis[Symbol.asyncDispose]();
});

let keys = 0;
const CALL = { name: "count", arguments: {} };
const callAll = () => [
  ...Array.from({ length: 4 }, () => engine.execute(CALL, { idempotencyKey: `key-${++keys}` })),
  ...Array.from({ length: 12 }, () => engine.execute(CALL)),
];

describe("the ACL that glovebox redis acl prints", () => {
  test("suffices for a fleet with kv, idempotency keys, kept calls and calls that wait", async () => {
    await admin.client.acl("LOG", "RESET");
    const results = await Promise.all(callAll());
    expect(results.flatMap(({ error }) => (error === null ? [] : [`${error.code}: ${error.message}`]))).toEqual([]);
    await expect.poll(async () => (await engine.calls.list({})).calls.length, { timeout: 120_000 }).toBeGreaterThan(15);
    const { error } = await engine.execute({ name: "gated", arguments: {} });
    const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
    expect(await engine.calls.durable.cancel(id)).toMatchObject({ state: "ended" });
    expect(await denied()).toEqual([]);
    expect(machine.stats().problem).toBeNull();
    expect(engine.stats().redis).toBeUndefined();
  });

  test.each(RULES.filter((rule) => !ELSEWHERE.includes(rule)))("is not enough without %s", async (rule) => {
    await permit(RULES.filter((each) => each !== rule));
    await admin.client.acl("LOG", "RESET");
    await admin.client.client("KILL", "USER", "glovebox");
    const called = Promise.all(callAll().map((call) => Promise.race([call, delay(500)])));
    await expect.poll(denied, { timeout: 120_000, interval: 50 }).not.toEqual([]);
    await permit(RULES);
    await called;
  });
});
