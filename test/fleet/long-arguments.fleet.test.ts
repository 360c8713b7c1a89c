import { expect, test } from "vitest";
import { FleetKeys } from "../../src/fleet/wire/keys.ts";
import { RedisConnection } from "../../src/fleet/redis/connection.ts";
import { given, typeOf, unchanged } from "../long-integers.ts";
import { createFleetEngine, startFleet } from "./fleet.ts";

/** For what comes by itself, on a machine that is busy. */
const WAIT = { timeout: 120_000 };

test("integers of any length are the same on a machine of the fleet, and back", async () => {
  await using fleet = await startFleet(1);
  await using engine = await createFleetEngine({
    executor: { kind: "queue", url: fleet.url, fleet: fleet.name },
    tools: [
      { name: "echo", description: "d", source: "export default ({ ids }) => [ids, ids.map((id) => typeof id)];" },
    ],
  });
  await unchanged(async (ids) => {
    const { output } = await engine.execute({ name: "echo", arguments: { ids } });
    expect(output).toEqual([ids.map(given), ids.map(typeOf)]);
  })();
});

test("integers of any length are the same in the fleet's stores: of values, and of calls that wait", async () => {
  const secret = "a secret of the fleet";
  await using fleet = await startFleet(1, { secret });
  const place = { url: fleet.url, fleet: fleet.name, secret };
  await using engine = await createFleetEngine({
    executor: { kind: "queue", ...place },
    kv: { url: fleet.url },
    calls: place,
    policy: { rules: [{ allow: { kv: true, pause: true } }] },
    tools: [
      {
        name: "keep",
        description: "d",
        source: `export default async ({ ids }, { host }) => {
          await host.kv.set("ids", { ids });
          const { data } = await host.pause.approval({ message: "Go on?", data: { ids } });
          return [await host.kv.get("ids"), data, ids];
        }`,
        capabilities: { kv: true, pause: true },
      },
    ],
  });
  const { durable } = engine.calls;
  await unchanged(
    async (ids) => {
      const same = ids.map(given);
      const { error } = await engine.execute({ name: "keep", arguments: { ids } });
      const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
      const [wait] = (await durable.get(id))?.waits ?? [];
      if (wait?.kind !== "approval") throw new Error(`the call waits for no approval: ${error?.message}`);
      expect(wait.arguments).toEqual({ ids: same });
      await durable.decide(id, { wait: wait.step, decision: "approve", digest: wait.digest, data: ids });
      const result = await durable.result(id, {}, { waitMs: 120_000 });
      expect(result?.output).toEqual([{ ids: same }, same, same]);
    },
    { numRuns: 2, minLength: 20, maxLength: 20 },
  )();
});

test("long arguments and outputs leave nothing behind in Redis once their call has ended", async () => {
  await using fleet = await startFleet(1);
  await using connection = RedisConnection.open(fleet.url, "test");
  await connection.ready(10_000);
  const source = "export default ({ text }) => text + text;";
  const tool = { name: "twice", description: "d", source };
  await using engine = await createFleetEngine({
    executor: { kind: "queue", url: fleet.url, fleet: fleet.name },
    tools: [tool],
  });
  const text = "x".repeat(200_000);
  const { output } = await engine.execute({ name: "twice", arguments: { text } });
  expect(output).toBe(text + text);
  await expect.poll(() => connection.client.keys(new FleetKeys(fleet.name).of("side", "*")), WAIT).toEqual([]);
});
