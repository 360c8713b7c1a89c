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
    policy: { rules: [{ allow: { ledger: true, pause: true } }] },
    tools: [
      {
        name: "refund",
        description: "Refunds, once a person has said so.",
        approval: "always",
        capabilities: { ledger: true },
        source: "export default async ({ item }, { host }) => [item, await host.ledger.add({ refunded: item })];",
      },
      {
        name: "order",
        description: "Orders, and waits in its midst for a person and for a payment.",
        capabilities: { ledger: true, pause: true },
        source: `export default async ({ item }, { host }) => {
          const drawn = Math.random();
          await host.ledger.add({ ordered: item });
          const [{ data }, paid] = await Promise.all([
            host.pause.approval({ message: "Send it?", data: { drawn } }),
            host.pause.signal({ name: "paid" }),
          ]);
          await host.ledger.add({ sent: item });
          return { drawn, data, paid };
        };`,
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

test("a call that waits in its midst holds no machine, and goes on where it waited, on a machine for another server", async () => {
  effects.length = 0;
  const first = await serve(false);
  const { error } = await first.execute({ name: "order", arguments: { item: 8 } });
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  await expect.poll(() => first.stats().executor.fleet?.busySlots, POLL).toBe(0);
  await first.close({ drainMs: 0 });
  expect(effects).toEqual([{ ordered: 8 }]);
  const second = await serve(true);
  const waits = (await second.calls.durable.get(id))?.waits ?? [];
  const drawn = waits.flatMap((wait) => (wait.kind === "approval" ? [wait.arguments] : []))[0];
  await second.calls.durable.signal(id, "paid", { euros: 12 });
  const digest = waits.flatMap((wait) => (wait.kind === "approval" ? [wait.digest] : []))[0] ?? "";
  await second.calls.durable.decide(id, { decision: "approve", digest, data: "yes" });
  await expect.poll(async () => (await second.calls.durable.get(id))?.state, POLL).toBe("ended");
  const output = { ...(drawn as object), data: "yes", paid: { euros: 12 } };
  expect(await second.calls.durable.result(id)).toMatchObject({ success: true, output });
  expect(effects).toEqual([{ ordered: 8 }, { sent: 8 }]);
});

test("a call that is stored before its start is told to its machine anew where that is lost, and pauses there", async () => {
  effects.length = 0;
  const server = await serve(true);
  const [lost] = fleet.machines;
  const going = server.execute({ name: "order", arguments: { item: 9 } }, { durable: true });
  await expect.poll(() => effects.length, POLL).toBe(1);
  await Promise.all([lost?.end("SIGKILL"), fleet.add()]);
  const { error } = await going;
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  const kinds = (await server.calls.durable.get(id))?.waits.map(({ kind }) => kind);
  expect(kinds).toEqual(["approval", "signal"]);
  expect(effects).toEqual([{ ordered: 9 }]);
});

test("a call of a fleet ends at a server that does not know its key any more, and no machine runs it", async () => {
  const before = effects.length;
  const first = await serve(false);
  const origin = { surface: "http", key: "ci", isKeyChecked: true };
  const { error } = await first.execute({ name: "refund", arguments: { item: 8 } }, { origin });
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  await first.close({ drainMs: 0 });
  const second = await serve(true);
  const message = "the key has been removed";
  second.calls.readmitWith(() => ({ kind: "refused", code: "unauthorized", message }));
  const [wait] = (await second.calls.durable.get(id))?.waits ?? [];
  await second.calls.decide(id, { decision: "approve", digest: wait?.kind === "approval" ? wait.digest : "" });
  await expect.poll(async () => (await second.calls.durable.get(id))?.state, POLL).toBe("ended");
  expect(await second.calls.result(id)).toMatchObject({ success: false, error: { code: "unauthorized", message } });
  expect(effects).toHaveLength(before);
});
