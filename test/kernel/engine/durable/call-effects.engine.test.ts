import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { codeMode } from "../../../../src/code-mode/index.ts";
import {
  createEngine,
  defineCapability,
  type DurableCallDetail,
  type Engine,
  type ToolDefinition,
  type ToolResult,
} from "../../../../src/glovebox/index.ts";

/* What a stored call has done, for those who read it, and whether its tool is another one by now. */

let folder: string;
let isHanging = false;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-done-"));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(() => {
  isHanging = false;
});

const shop = defineCapability({
  name: "shop",
  methods: {
    look: { isRead: true, handler: () => 1 },
    do: { handler: (what: unknown) => (isHanging ? new Promise(() => undefined) : `did ${String(what)}`) },
    fail: { handler: () => Promise.reject(new Error("out of order")) },
  },
});

const LETTER = { type: "object", properties: { to: {}, pin: { type: "string", format: "password" } } };
const TOOLS: readonly ToolDefinition[] = [
  {
    name: "mail",
    description: "Writes a letter.",
    capabilities: { shop: true },
    inputSchema: LETTER,
    source: "export default (_, { host }) => host.shop.do('mail');",
  },
  { name: "sum", description: "Adds.", source: "export default () => 1;" },
  {
    name: "order",
    description: "Orders, waits and pays.",
    capabilities: { shop: true, kv: true, tools: ["mail", "sum"], pause: true },
    source: `export default async (_, { host }) => {
      await host.shop.look();
      await host.kv.get("order");
      await host.kv.set("order", "secret");
      await host.shop.fail().catch(() => undefined);
      await host.tools.call("sum", {});
      await host.tools.call("mail", { to: "ada", pin: "1234" });
      await host.tools.call("none", {}).catch(() => undefined);
      await host.pause.signal({ name: "go" });
      return host.shop.do("pay");
    };`,
  },
];

function open(name: string, more: Partial<Parameters<typeof createEngine>[0]> = {}): Promise<Engine> {
  return createEngine({
    workers: 1,
    executor: { kind: "threads" },
    capabilities: [shop],
    codeMode: {},
    calls: { path: join(folder, `${name}.sqlite`) },
    policy: { rules: [{ allow: { shop: true, kv: true, pause: true, tools: ["*"] } }] },
    tools: TOOLS,
    ...more,
  });
}

async function called(engine: Engine, name: string, options = {}): Promise<string> {
  const { error } = await engine.execute({ name, arguments: {} }, options);
  return error?.code === "paused" ? (error.details?.id ?? "") : "";
}

async function shown(engine: Engine, id: string): Promise<DurableCallDetail> {
  const call = await engine.calls.durable.get(id);
  if (call === undefined) throw new Error("there is no such call");
  return call;
}

const ended = (engine: Engine, id: string): Promise<ToolResult | undefined> =>
  engine.calls.durable.result(id, {}, { waitMs: 120_000 });

/** What a list of effects says, but for the times. */
const wordsOf = ({ effects }: DurableCallDetail): readonly string[] =>
  effects.map(({ step, state, asked, tool, arguments: args, target }) =>
    [step, state, tool ?? asked, args ?? target].join(" ").trim(),
  );

test("a call that waits shows what it has done and in which runs, and neither reads nor passwords", async () => {
  await using engine = await open("waits");
  const id = await called(engine, "order");
  const done = [
    "3 done kv.set order",
    "4 failed shop.fail",
    '6 done mail {"to":"ada","pin":"[redacted]"}',
    "7 failed none",
  ];
  const paused = await shown(engine, id);
  expect(wordsOf(paused)).toEqual(done);
  const [first] = paused.effects;
  expect(Math.abs(Date.parse(first?.answeredAt ?? "") - Date.now())).toBeLessThan(3_600_000);
  expect(paused).toMatchObject({ runs: [{ number: 1, outcome: "paused" }], program: null, effectsOmitted: 0 });
  await engine.calls.durable.signal(id, "go");
  expect((await ended(engine, id))?.output).toBe("did pay");
  const call = await shown(engine, id);
  expect(wordsOf(call)).toEqual([...done, "9 done shop.do"]);
  expect(call.runs).toMatchObject([{ number: 1 }, { number: 2, outcome: "ended" }]);
  expect(call.runs[0]?.holder).toBe(call.runs[1]?.holder);
  const { calls } = await engine.calls.durable.list();
  expect(Object.keys(calls[0] ?? {})).not.toContain("effects");
});

test("an effect under way is announced, in doubt once its engine is gone, and done when somebody has said so", async () => {
  isHanging = true;
  const pay = {
    name: "pay",
    description: "Pays.",
    capabilities: { shop: true },
    source: "export default (_, { host }) => host.shop.do('pay');",
  };
  const first = await open("doubt", { tools: [pay] });
  const running = first.execute({ name: "pay", arguments: {} }, { durable: true });
  await expect.poll(async () => (await first.calls.durable.list()).calls).toMatchObject([{ state: "running" }]);
  const id = (await first.calls.durable.list()).calls[0]?.id ?? "";
  await expect.poll(async () => wordsOf(await shown(first, id))).toEqual(["1 announced shop.do"]);
  expect(await shown(first, id)).toMatchObject({ runs: [{ number: 1, endedAt: null, outcome: null }] });
  await first.close();
  await running;
  await using second = await open("doubt", { tools: [pay] });
  await expect.poll(async () => (await shown(second, id)).state).toBe("in_doubt");
  expect(await shown(second, id)).toMatchObject({
    effects: [{ step: 1, asked: "shop.do", state: "in_doubt", answeredAt: null }],
    runs: [{ outcome: "lost" }],
  });
  await second.calls.durable.decide(id, { decision: "happened", answer: "paid" });
  expect((await ended(second, id))?.output).toBe("paid");
  const call = await shown(second, id);
  expect(wordsOf(call)).toEqual(["1 done shop.do"]);
  expect(call.runs).toMatchObject([{ outcome: "lost" }, { number: 2, outcome: "ended" }]);
  expect(call.runs[0]?.holder).not.toBe(call.runs[1]?.holder);
});

test("a call shows the last 200 of its effects, and none that a person has refused", async () => {
  await using engine = await open("many", {
    maxLimits: { capabilityCalls: 300 },
    policy: { rules: [{ allow: { shop: true, pause: true, tools: ["*"] } }], approvals: [{ tools: ["mail"] }] },
  });
  await engine.register({
    name: "many",
    description: "Does much.",
    limits: { capabilityCalls: 300 },
    capabilities: { shop: true, pause: true, tools: ["mail"] },
    source: `export default async (_, { host }) => {
      await host.tools.call("mail", {}).catch(() => undefined);
      for (let at = 0; at < 205; at++) await host.shop.do(at);
      await host.pause.signal({ name: "go" });
    };`,
  });
  const id = await called(engine, "many");
  await engine.calls.durable.decide(id, { decision: "refuse" });
  await expect.poll(async () => (await shown(engine, id)).waits.at(-1)?.kind, { timeout: 60_000 }).toBe("signal");
  const { effects, effectsOmitted } = await shown(engine, id);
  expect([effects.length, effects[0]?.step, effects.at(-1)?.step, effectsOmitted]).toEqual([200, 7, 206, 5]);
});

test("a program is shown with its text, and effects without values where the embedder redacts them", async () => {
  const calls = { path: join(folder, "redacted.sqlite"), redact: () => "hidden" };
  await using engine = await open("redacted", { calls });
  const code = `await tools.mail({ to: "ada" }); return await signal("go");`;
  const { error } = await codeMode(engine).run(code);
  const call = await shown(engine, error?.code === "paused" ? (error.details?.id ?? "") : "");
  expect(call).toMatchObject({
    program: expect.stringContaining(code) as string,
    effects: [{ asked: "program.call", tool: "mail", arguments: null, state: "done" }],
  });
  expect(wordsOf(await shown(engine, await called(engine, "order")))[0]).toBe("3 done kv.set");
});

test("a call is stale where its tool is gone, or has another version or config, and lists are filtered by that", async () => {
  const wait = (more: Partial<ToolDefinition> = {}): ToolDefinition => ({
    name: "wait",
    description: "Waits.",
    capabilities: { pause: true },
    source: "export default (_, { host }) => host.pause.signal({ name: 'go' });",
    ...more,
  });
  await using engine = await open("stale");
  await engine.register(wait({ config: { rate: 1 } }));
  const [id, other] = [await called(engine, "wait"), await called(engine, "order")];
  const stale = async (isStale = true): Promise<readonly string[]> => {
    const { calls } = await engine.calls.durable.list({ stale: isStale });
    return calls.map((call) => call.id);
  };
  expect([await stale(), await stale(false)]).toEqual([[], [other, id]]);
  await engine.register(wait({ config: { rate: 2 } }));
  expect([await stale(), await stale(false)]).toEqual([[id], [other]]);
  await engine.register(wait({ config: { rate: 1 }, description: "Waits for a signal." }));
  expect((await shown(engine, id)).isStale).toBe(false);
  await engine.register(wait({ config: { rate: 1 }, limits: { wallMs: 1_000 } }));
  expect((await shown(engine, id)).isStale).toBe(true);
  await engine.unregister("wait");
  expect(await engine.calls.durable.list({ stale: true, limit: 1, tool: "wait" })).toMatchObject({
    calls: [{ id, state: "paused", isStale: true }],
  });
  await engine.calls.durable.cancel(id);
  expect([await stale(), (await shown(engine, id)).isStale]).toEqual([[], false]);
  await expect(engine.calls.durable.list({ stale: "yes" as never })).rejects.toThrow("stale is true or false");
});

test("a call is stale that waits for the approval of a tool which has been replaced since", async () => {
  await using engine = await open("gated", {
    policy: { rules: [{ allow: { shop: true, tools: ["*"] } }], approvals: [{ tools: ["mail"] }] },
  });
  await engine.register({
    name: "writes",
    description: "Writes.",
    capabilities: { tools: ["mail"] },
    source: "export default (_, { host }) => host.tools.call('mail', { to: 'ada' });",
  });
  const id = await called(engine, "writes");
  expect(await shown(engine, id)).toMatchObject({ isStale: false, effects: [] });
  await engine.register({ ...(TOOLS[0] as ToolDefinition), source: "export default () => 1;" });
  expect((await engine.calls.durable.list({ stale: true })).calls).toMatchObject([{ id, isStale: true }]);
});
