import { expect, test, vi } from "vitest";
import { createEngine, type Engine, type EngineOptions, type NotifyTarget } from "../../../../src/glovebox/index.ts";
import { isSigned, receiver } from "./receiver.ts";

/* Who is told of calls that wait, by a real server that receives. */

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const POLL = { timeout: 120_000, interval: 20 };

async function engineFor(notify: readonly NotifyTarget[], options: Partial<EngineOptions> = {}): Promise<Engine> {
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    calls: { path: ":memory:", notify },
    policy: { rules: [{ allow: { pause: true } }] },
    ...options,
  });
  await engine.register({
    name: "refund",
    description: "Pays an order back.",
    approval: "always",
    source: "export default ({ order }) => `paid back ${order}`;",
  });
  await engine.register({
    name: "nap",
    description: "Waits for no person.",
    capabilities: { pause: true },
    source: "export default (_, { host }) => host.pause.signal({ name: 'wake' });",
  });
  return engine;
}

async function approveAll(engine: Engine, id: string): Promise<void> {
  const call = await engine.calls.durable.get(id);
  for (const wait of call?.waits ?? [])
    if (wait.kind === "approval")
      await engine.calls.durable.decide(id, { wait: wait.step, decision: "approve", digest: wait.digest });
}

test("a call that waits for a person is told, and its end, with signatures and without its arguments", async () => {
  await using hook = await receiver();
  await using engine = await engineFor([{ url: hook.url, secret: SECRET }]);
  await engine.execute({ name: "refund", arguments: { order: "A-7" } }, { tenant: "acme" });
  await vi.waitFor(() => expect(hook.all).toHaveLength(1), POLL);
  const [paused] = hook.all;
  if (paused === undefined) throw new Error("nothing came");
  expect(paused.body).toMatchObject({
    type: "call.paused",
    data: { tool: "refund", tenant: "acme", state: "paused", code: null, waits: [{ kind: "approval", step: 0 }] },
  });
  const [shown] = (await engine.calls.durable.list({ state: "paused" })).calls;
  const wait = shown?.waits[0];
  expect(paused.body.data.waits[0]?.["digest"]).toBe(wait?.kind === "approval" ? wait.digest : "none");
  expect(paused.raw).not.toContain("A-7");
  expect(isSigned(paused, SECRET)).toBe(true);
  expect(isSigned({ ...paused, raw: `${paused.raw} ` }, SECRET)).toBe(false);
  expect(Math.abs(Number(paused.headers["webhook-timestamp"]) - Date.now() / 1_000)).toBeLessThan(60);
  await approveAll(engine, paused.body.data.id);
  await vi.waitFor(() => expect(hook.of("call.ended")).toHaveLength(1), POLL);
  const [ended] = hook.of("call.ended");
  expect(ended?.body.data).toMatchObject({ state: "ended", code: "ok", waits: [] });
  expect(ended?.id).not.toBe(paused.id);
  expect(hook.all).toHaveLength(2);
});

test("a target that asks for values gets arguments, and one that names events gets only these", async () => {
  await using values = await receiver();
  await using ends = await receiver();
  await using engine = await engineFor([
    { url: values.url, secret: "a secret of many characters", values: true, events: ["paused"] },
    { url: ends.url, secret: SECRET, events: ["ended"] },
  ]);
  await engine.execute({ name: "refund", arguments: { order: "A-7" } });
  await vi.waitFor(() => expect(values.all).toHaveLength(1), POLL);
  expect(values.all[0]?.body.data.waits).toMatchObject([{ arguments: { order: "A-7" } }]);
  expect(values.all.every((one) => isSigned(one, "a secret of many characters"))).toBe(true);
  const { calls } = await engine.calls.durable.list();
  await engine.calls.durable.cancel(calls[0]?.id ?? "");
  await vi.waitFor(() => expect(ends.all).toHaveLength(1), POLL);
  expect(ends.all[0]?.body).toMatchObject({ type: "call.ended", data: { code: "cancelled" } });
  expect(values.all).toHaveLength(1);
});

test("a body is at most 64 KiB long: longer arguments are left out", async () => {
  await using hook = await receiver();
  await using engine = await engineFor([{ url: hook.url, secret: SECRET, values: true }]);
  await engine.execute({ name: "refund", arguments: { order: "x".repeat(100_000) } });
  await vi.waitFor(() => expect(hook.all).toHaveLength(1), POLL);
  expect(hook.all[0]?.raw.length).toBeLessThan(65_536);
  expect(hook.all[0]?.body.data.waits).toMatchObject([{ tool: "refund" }]);
  expect(hook.all[0]?.body.data.waits[0]).not.toHaveProperty("arguments");
});

test("a call that waits for no person is told of at its end only", async () => {
  await using hook = await receiver();
  await using engine = await engineFor([{ url: hook.url, secret: SECRET }]);
  const paused = await engine.execute({ name: "nap", arguments: {} });
  const { id = "" } = (paused.error?.details ?? {}) as { readonly id?: string };
  await engine.calls.durable.signal(id, "wake", 1);
  await vi.waitFor(() => expect(hook.of("call.ended")).toHaveLength(1), POLL);
  expect(hook.all).toHaveLength(1);
});

test("a receiver that fails or redirects is tried again with the same id, and no redirect is followed", async () => {
  await using elsewhere = await receiver();
  const statuses = [503, 302];
  await using hook = await receiver((response) => {
    const status = statuses.shift() ?? 204;
    response.writeHead(status, status === 302 ? { location: elsewhere.url } : {}).end();
  });
  await using engine = await engineFor([{ url: hook.url, secret: SECRET }]);
  const outcomes: string[] = [];
  const reasons: unknown[] = [];
  engine.on("call:notify", ({ outcome, reason }) => {
    outcomes.push(outcome);
    reasons.push(reason);
  });
  await engine.execute({ name: "refund", arguments: {} });
  await vi.waitFor(() => expect(outcomes).toEqual(["failed", "failed", "delivered"]), POLL);
  expect(reasons).toEqual(["it answered 503", "it answered 302", undefined]);
  expect(new Set(hook.all.map(({ id }) => id)).size).toBe(1);
  expect(elsewhere.all).toHaveLength(0);
  const text = await engine.metrics();
  expect(text).toContain('glovebox_notifications_total{outcome="failed"} 2');
  expect(text).toContain('glovebox_notifications_total{outcome="delivered"} 1');
});

test("a receiver that never answers holds up no other, and nothing once the engine closes", async () => {
  await using silent = await receiver(() => undefined);
  await using hook = await receiver();
  const engine = await engineFor([
    { url: silent.url, secret: SECRET },
    { url: hook.url, secret: SECRET },
  ]);
  await engine.execute({ name: "refund", arguments: {} });
  await vi.waitFor(() => expect(silent.all).toHaveLength(1), POLL);
  await vi.waitFor(() => expect(hook.all).toHaveLength(1), POLL);
  await engine.close();
});

test("an approval that was decided before its notification could be delivered is not told any more", async () => {
  // It fails once the call is decided: what fails before that is tried again after a second.
  const decided = Promise.withResolvers<void>();
  await using hook = await receiver((response, { body }) => {
    if (body.type === "call.paused") void decided.promise.then(() => response.writeHead(500).end());
    else response.writeHead(204).end();
  });
  await using engine = await engineFor([{ url: hook.url, secret: SECRET }]);
  await engine.execute({ name: "refund", arguments: {} });
  await vi.waitFor(() => expect(hook.all).toHaveLength(1), POLL);
  await approveAll(engine, hook.all[0]?.body.data.id ?? "");
  decided.resolve();
  await vi.waitFor(() => expect(hook.of("call.ended")).toHaveLength(1), POLL);
  expect(hook.of("call.paused")).toHaveLength(1);
});

test.each([
  [[{ url: "ftp://a", secret: SECRET }], "calls.notify[0].url must be an address"],
  [[{ url: "https://user:pass@a", secret: SECRET }], "calls.notify[0].url must have no user and no password"],
  [[{ url: "https://a", secret: "short" }], "calls.notify[0].secret must have 16 to"],
  [[{ url: "https://a", secret: { env: "NO_SUCH_VARIABLE" } }], "calls.notify[0].secret.env names a variable"],
  [[{ url: "https://a", secret: "whsec_AAAA" }], "calls.notify[0].secret must have base64 of 24 to 64 bytes"],
  [[{ url: "https://a", secret: SECRET, events: [] }], "calls.notify[0].events must be a list of paused"],
  [
    [
      { url: "https://a", secret: SECRET },
      { url: "https://a", secret: SECRET },
    ],
    "calls.notify must name each url once",
  ],
])("refuses %#: a target that is wrong", async (notify, words) => {
  const error: unknown = await engineFor(notify as readonly NotifyTarget[]).catch((one: unknown) => one);
  expect(error).toBeInstanceOf(TypeError);
  expect(String(error)).toContain(words);
  expect(String(error)).not.toContain("pass@");
});

test("the age of the oldest approval is a metric, and 0 once it is decided", async () => {
  await using engine = await engineFor([]);
  const age = async (): Promise<number> =>
    Number(/^glovebox_calls_oldest_approval_seconds (\S+)$/m.exec(await engine.metrics())?.[1]);
  expect(await age()).toBe(0);
  await engine.execute({ name: "refund", arguments: {} });
  await expect.poll(age, POLL).toBeGreaterThan(0);
  const [call] = (await engine.calls.durable.list({ state: "paused" })).calls;
  const openMs = (): number => Date.now() - Date.parse(call?.waits[0]?.openedAt ?? "");
  const leastMs = openMs();
  const ageMs = Math.round(1_000 * (await age()));
  expect(ageMs).toBeGreaterThanOrEqual(leastMs);
  expect(ageMs).toBeLessThanOrEqual(openMs());
  await approveAll(engine, call?.id ?? "");
  await expect.poll(age, POLL).toBe(0);
});
