import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { defineCapability, type Engine } from "../../../src/glovebox/index.ts";
import type { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { connectTo } from "../../redis-server.ts";
import { createFleetEngine, POLL, startFleet, type TestFleet } from "../fleet.ts";

const SECRET = "a secret of the fleet";

let fleet: TestFleet;
let peek: RedisConnection;
beforeAll(async () => {
  fleet = await startFleet(1, { slots: 4, workers: 1, secret: SECRET });
  peek = await connectTo(fleet.url);
});
afterAll(async () => {
  await peek.close();
  await fleet[Symbol.asyncDispose]();
});

const effects: unknown[] = [];
/** How often the call was written before its effect. */
const written: number[] = [];
const ledger = defineCapability({
  name: "ledger",
  methods: {
    add: {
      handler: async (args) => {
        const [key = ""] = await peek.client.keys("*:waits:call:*");
        written.push(((await peek.client.hget(key, "past")) ?? "").trim().split(" ").length + 1);
        return effects.push(args);
      },
    },
  },
});

/** A server of the fleet. */
async function serve(resume: boolean): Promise<Engine> {
  const shared = { url: fleet.url, fleet: fleet.name, secret: SECRET };
  const engine = await createFleetEngine({
    executor: { kind: "queue", ...shared },
    calls: { ...shared, resume },
    capabilities: [ledger],
    policy: { rules: [{ allow: { ledger: true } }] },
    tools: [
      {
        name: "refund",
        description: "Refunds, once a person has said so.",
        approval: "always",
        capabilities: { ledger: true },
        source: "export default async ({ item }, { host }) => [item, await host.ledger.add({ refunded: item })];",
      },
    ],
  });
  onTestFinished(() => engine.close({ drainMs: 0 }));
  return engine;
}

test("a call of a fleet that waits at one server is approved at a second, and runs on a machine for a third", async () => {
  const first = await serve(false);
  const { error } = await first.execute({ name: "refund", arguments: { item: 7 } }, { tenant: "acme" });
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  await first.close({ drainMs: 0 });
  const second = await serve(false);
  const [wait] = (await second.calls.durable.get(id, { tenant: "acme" }))?.waits ?? [];
  expect(wait).toMatchObject({ kind: "approval", arguments: { item: 7 }, state: "open" });
  expect(await second.calls.durable.get(id, { tenant: "beta" })).toBeUndefined();
  const digest = wait?.kind === "approval" ? wait.digest : "";
  expect(await second.calls.durable.decide(id, { decision: "approve", digest })).toMatchObject({ state: "ready" });
  const third = await serve(true);
  await expect.poll(async () => (await third.calls.durable.get(id))?.state, POLL).toBe("ended");
  expect(await second.calls.durable.result(id)).toMatchObject({ success: true, output: [7, 1] });
  expect(effects).toEqual([{ refunded: 7 }]);
  // Its pause, its approval, its claim, what it has asked, and what it begins: an effect is announced before it happens.
  expect(written[0]).toBeGreaterThanOrEqual(4);
  expect((await second.calls.durable.list({ tenant: "acme" })).calls).toMatchObject([{ id, state: "ended" }]);
});
