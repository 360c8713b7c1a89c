import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createEngine, type Engine, type NotifyTarget } from "../../../src/glovebox/index.ts";
import { isSigned, receiver } from "../../kernel/engine/durable/receiver.ts";
import { type RedisServer, startRedis } from "../../redis-server.ts";

/* Who is told of calls that wait in a Redis, by a real server that receives. */

const SIGNED_WITH = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const POLL = { timeout: 120_000, interval: 50 };

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

async function serve(notify: readonly NotifyTarget[]): Promise<Engine> {
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    calls: { url: redis.url, fleet: "told", secret: "a secret of the fleet", notify },
    tools: [
      {
        name: "refund",
        description: "Pays an order back.",
        approval: "always",
        source: "export default ({ order }) => `paid back ${order}`;",
      },
    ],
  });
  onTestFinished(() => engine.close({ drainMs: 0 }));
  return engine;
}

test("a call of a fleet is told by one of its servers, with a link that another one knows, and its end as well", async () => {
  await using hook = await receiver();
  const notify = [{ url: hook.url, secret: SIGNED_WITH, links: "https://tools.example.com" }];
  const [first, second] = await Promise.all([serve(notify), serve(notify)]);
  const orders = Array.from({ length: 6 }, (_, order) => order);
  await Promise.all(orders.map((order) => first.execute({ name: "refund", arguments: { order } }, { tenant: "acme" })));
  await expect.poll(() => hook.of("call.paused").length, POLL).toBe(orders.length);
  for (const one of hook.all) {
    expect(isSigned(one, SIGNED_WITH)).toBe(true);
    expect(one.body.data).toMatchObject({
      tool: "refund",
      tenant: "acme",
      state: "paused",
      waits: [{ kind: "approval" }],
    });
    const link = String(one.body.data.waits[0]?.["link"]);
    const token = link.slice(link.lastIndexOf("/") + 1);
    expect(await second.calls.durable.byLink(token)).toMatchObject({ wait: { state: "open" } });
  }
  for (const { body } of hook.of("call.paused")) await second.calls.durable.cancel(body.data.id);
  await expect.poll(() => hook.of("call.ended").length, POLL).toBe(orders.length);
  expect(new Set(hook.all.map(({ id }) => id)).size).toBe(2 * orders.length);
  expect(hook.all).toHaveLength(2 * orders.length);
});

test("what a server could not tell is told by another once that one is gone", async () => {
  await using hook = await receiver((response) => void response.writeHead(hook.all.length > 1 ? 204 : 503).end());
  const notify = [{ url: hook.url, secret: SIGNED_WITH }];
  const first = await serve(notify);
  await first.execute({ name: "refund", arguments: { order: 1 } });
  await expect.poll(() => hook.all.length, POLL).toBe(1);
  await first.close({ drainMs: 0 });
  await serve(notify);
  await expect.poll(() => hook.all.length, POLL).toBeGreaterThan(1);
  expect(hook.all[1]?.id).toBe(hook.all[0]?.id);
});
