import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  createEngine,
  defineCapability,
  type Engine,
  type JsonValue,
  type ToolDefinition,
  type ToolResult,
} from "../../../../src/glovebox/index.ts";
import type { DurableCall } from "../../../../src/kernel/store/calls/durable/durable-call.ts";
import { given, ID, typeOf, unchanged } from "../../../long-integers.ts";

/* Calls wait for people, signals and times, and hold nothing meanwhile: code-mode.md 2.3 of the design. */

let folder: string;
let engine: Engine;
/** What has happened outside. */
let effects: unknown[] = [];
/** A call that does not wait for its child goes on. */
let left = Promise.withResolvers<string>();

const charge = defineCapability({
  name: "charge",
  methods: {
    now: { handler: (args) => void effects.push(args) },
    integers: { handler: ({ ids }: { readonly ids: readonly (number | string)[] }) => ({ ids: ids.map(BigInt) }) },
    left: { handler: () => left.promise },
  },
});

const AMOUNT = { type: "object", properties: { amount: { type: "integer", default: 5 } }, additionalProperties: false };

function open(): Promise<Engine> {
  return createEngine({
    workers: 1,
    executor: { kind: "threads" },
    capabilities: [charge],
    calls: { path: join(folder, "calls.sqlite") },
    policy: {
      rules: [{ allow: { tools: ["*"], pause: true, charge: true, fs: { scratch: { mode: "rw" } } } }],
      approvals: [
        { tools: ["pay"], when: { properties: { amount: { exclusiveMinimum: 100 } } }, message: "large payments" },
        { tools: ["self"], self: true, by: ["boss*"] },
      ],
    },
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-durable-"));
  engine = await open();
  await addTools(engine);
});
afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  effects = [];
});

const PAY = "async ({ amount }, { host }) => { await host.charge.now({ amount }); return { paid: amount }; }";

async function addTools(to: Engine): Promise<void> {
  const add = (name: string, source: string, more: Partial<ToolDefinition> = {}) =>
    to.register({ name, description: name, source: `export default ${source};`, ...more });
  await add("refund", PAY, { inputSchema: AMOUNT, approval: "always", capabilities: { charge: true } });
  await add("pay", PAY, { inputSchema: AMOUNT, capabilities: { charge: true } });
  await add("self", "() => 'done'");
  await add(
    "ask",
    `async (input, { host }) => {
      const before = Math.random();
      const answer = await host.pause.approval({ message: "Go on?", data: { before } });
      return { before, answer, after: Math.random() };
    }`,
    { capabilities: { pause: true } },
  );
  await add(
    "wait",
    "async ({ name }, { host }) => [await host.pause.signal({ name }), await host.pause.signal({ name })]",
    {
      capabilities: { pause: true },
    },
  );
  await add(
    "late",
    `(input, { host }) =>
      host.pause.signal({ name: "m", expiresMs: 1_000 }).catch(({ code, message }) => ({ code, message }))`,
    { capabilities: { pause: true } },
  );
  await add("sleep", "async ({ date }, { host }) => { await host.pause.until({ date }); return Date.now(); }", {
    capabilities: { pause: true },
  });
  await add(
    "five",
    `async (input, { host }) => {
      const calls = [1, 2, 3, 4, 5].map((amount) => host.tools.refund({ amount }));
      return (await Promise.allSettled(calls)).map(({ status, value, reason }) => value?.paid ?? reason.toolCode);
    }`,
    { capabilities: { tools: ["refund"] } },
  );
  await add("plain", "() => 'done'");
  await add("calls-plain", "async (input, { host }) => host.tools.plain({})", { capabilities: { tools: ["plain"] } });
  await add(
    "scratch",
    `async (input, { host }) => {
      await host.fs.writeFile("/scratch/a.txt", "a");
      return host.pause.approval({ message: "Go on?" }).catch(({ code, message }) => ({ code, message }));
    }`,
    { capabilities: { pause: true, fs: { scratch: { mode: "rw" } } } },
  );
  const login = { type: "object", properties: { pin: { type: "string", format: "password" } } };
  await add("login", "({ user, pin }) => user + pin.length", { approval: "always", inputSchema: login });
  await add("digits", "({ ids }) => [ids, ids.map((id) => typeof id)]", { approval: "always" });
  await add("digits-of-child", "async (input, { host }) => host.tools.digits(input)", {
    capabilities: { tools: ["digits"] },
  });
  await add(
    "digits-on",
    `async ({ ids }, { host }) => {
      const answer = await host.charge.integers({ ids });
      const { data } = await host.pause.approval({ message: "Go on?", data: answer });
      const signalled = await host.pause.signal({ name: "a" });
      return [ids, answer.ids, data, signalled, answer.ids.map((id) => typeof id)];
    }`,
    { capabilities: { pause: true, charge: true } },
  );
  await add("leaves", "async (input, { host }) => Promise.race([host.tools.ask({}), host.charge.left()])", {
    capabilities: { tools: ["ask"], charge: true },
  });
  await add("parent", "async (input, { host }) => ({ child: await host.tools.ask({}) })", {
    capabilities: { tools: ["ask"] },
  });
}

function idOf({ error }: ToolResult): string {
  return error?.code === "paused" ? (error.details?.id ?? "") : "";
}

async function paused(name: string, args: Record<string, unknown> = {}, options = {}): Promise<DurableCall> {
  const result = await engine.execute({ name, arguments: args }, options);
  expect(result.error?.code).toBe("paused");
  const id = idOf(result);
  const call = await engine.calls.durable.get(id);
  if (call === undefined) throw new Error("the call is not kept");
  return call;
}

async function ended(id: string, of = engine): Promise<ToolResult> {
  const result = await of.calls.durable.result(id, {}, { waitMs: 120_000 });
  if (result === undefined) throw new Error("the call is not kept");
  return result;
}

function approve(call: DurableCall, more = {}): Promise<DurableCall | undefined> {
  const [wait] = call.waits.filter(({ state }) => state === "open");
  if (wait?.kind !== "approval") throw new Error("the call waits for no approval");
  return engine.calls.durable.decide(call.id, { wait: wait.step, decision: "approve", digest: wait.digest, ...more });
}

describe("a call that needs a person's approval", () => {
  test("does not start, and happens once when it is approved", async () => {
    const call = await paused("refund", { amount: 3 });
    expect(call).toMatchObject({
      state: "paused",
      tool: "refund",
      waits: [{ step: 0, kind: "approval", tool: "refund" }],
    });
    expect(engine.stats().running).toBe(0);
    expect(effects).toEqual([]);
    await approve(call, { actor: "ada@example.com" });
    expect(await ended(call.id)).toMatchObject({
      success: true,
      output: { paid: 3 },
      metadata: { callId: call.callId },
    });
    await approve(call, { actor: "ada@example.com" });
    expect(effects).toEqual([{ amount: 3 }]);
  });

  test("is decided with data of a limited length, and other decisions do not suffer from one that is no JSON", async () => {
    const [first, second] = [await paused("ask"), await paused("ask")];
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const wrong = [approve(first, { data: circular }), approve(first, { data: "x".repeat(65_535) })];
    const [isCircular, isLong] = await Promise.allSettled([...wrong, approve(second, { data: "x".repeat(65_534) })]);
    expect(isCircular).toMatchObject({ reason: { name: "RangeError", message: "data cannot be written as JSON" } });
    expect(isLong).toMatchObject({ reason: { message: "data has at most 65536 characters of JSON" } });
    expect(await ended(second.id)).toMatchObject({ success: true });
    expect(await engine.calls.durable.get(first.id)).toMatchObject({ state: "paused" });
  });

  test("refuses arguments that are longer than its tool takes, and those for an approval that has no tool", async () => {
    const long = approve(await paused("refund"), { arguments: { text: "x".repeat(2 ** 20) } });
    await expect(long).rejects.toMatchObject({ code: "input_too_large" });
    await expect(approve(await paused("ask"), { arguments: {} })).rejects.toThrow("arguments are for the approval");
  });

  test(
    "keeps the digits of integers of any length on every way that they take",
    unchanged(
      async (ids) => {
        const same = ids.map(given);
        const output = [same, ids.map(typeOf)];
        const edited = await paused("digits", { ids: [ID] });
        expect(edited.waits).toMatchObject([{ arguments: { ids: [`${ID}`] } }]);
        await approve(edited, { arguments: { ids } });
        expect(await ended(edited.id)).toMatchObject({ output });
        const parent = await paused("digits-of-child", { ids });
        expect(parent.waits).toMatchObject([{ arguments: { ids: same } }]);
        await approve(parent);
        expect(await ended(parent.id)).toMatchObject({ output });
        const stays = await paused("digits-on", { ids });
        expect(stays.waits).toMatchObject([{ arguments: { ids: same } }]);
        await approve(stays, { data: ids });
        await engine.calls.durable.signal(stays.id, "a", { ids } as unknown as JsonValue);
        expect(await ended(stays.id)).toMatchObject({ output: [same, same, same, { ids: same }, ids.map(typeOf)] });
      },
      { numRuns: 5, minLength: 1, maxLength: 20 },
    ),
  );

  test("goes with the call that waited for it and has gone another way", async () => {
    left = Promise.withResolvers();
    const running = engine.execute({ name: "leaves", arguments: {} });
    const newest = async (): Promise<DurableCall | undefined> =>
      (await engine.calls.durable.list({ tool: "ask", limit: 1 })).calls[0];
    await expect.poll(newest).toMatchObject({ state: "paused", parentId: expect.any(String) });
    left.resolve("left");
    expect(await running).toMatchObject({ output: "left" });
    await expect.poll(newest).toMatchObject({ state: "ended", waits: [{ kind: "approval", state: "void" }] });
  });

  test("shows arguments with their defaults, and never those that its schema refuses", async () => {
    const call = await paused("refund");
    expect(call.waits).toMatchObject([{ arguments: { amount: 5 } }]);
    const wrong = await engine.execute({ name: "refund", arguments: { amount: "much" } });
    expect(wrong.error).toMatchObject({ code: "invalid_arguments", details: { violations: [{ pointer: "/amount" }] } });
  });

  test("runs with the arguments that the person has changed", async () => {
    const call = await paused("refund", { amount: 900 });
    await expect(approve(call, { arguments: { amount: "all" } })).rejects.toMatchObject({ code: "invalid_arguments" });
    await approve(call, { arguments: { amount: 9 } });
    expect(await ended(call.id)).toMatchObject({ output: { paid: 9 } });
    expect(effects).toEqual([{ amount: 9 }]);
  });

  test("shows no password, runs with it, and takes no edit that has what stands for it", async () => {
    const call = await paused("login", { user: "ann", pin: "4711" });
    const shown = { user: "ann", pin: "[redacted]" };
    expect(call.waits).toMatchObject([{ arguments: shown }]);
    await expect(approve(call, { arguments: shown })).rejects.toMatchObject({ code: "invalid_arguments" });
    await approve(call);
    expect((await ended(call.id)).output).toBe("ann4");
    const edited = await paused("login", { user: "ann", pin: "4711" });
    const decided = await approve(edited, { arguments: { user: "bob", pin: "12" } });
    expect((await ended(edited.id)).output).toBe("bob2");
    const { calls } = await engine.calls.durable.list({ tool: "login", state: "ended" });
    const all = [decided, await engine.calls.durable.get(call.id), await engine.calls.durable.get(edited.id), ...calls];
    expect(all.map((one) => one?.waits.map(({ settled }) => settled?.arguments))).toEqual(
      [true, false, true, true, false].map((isEdited) => [isEdited ? { user: "bob", pin: "[redacted]" } : null]),
    );
    expect(JSON.stringify(all)).not.toContain("4711");
  });

  test("ends with the person's reason where it is refused", async () => {
    const call = await paused("refund", { amount: 4 });
    await engine.calls.durable.decide(call.id, { decision: "refuse", reason: "not yet", actor: "ada" });
    const { error } = await ended(call.id);
    expect(error).toMatchObject({ code: "approval_refused", message: expect.stringContaining("not yet") as string });
    expect(effects).toEqual([]);
  });

  test("is kept in the history and told of once where it ends before its start", async () => {
    const told: string[] = [];
    const tell = ({ callId }: { readonly callId: string }): void => void told.push(callId);
    engine.on("tool:error", tell);
    const origin = { surface: "http", key: "ci" };
    const refused = await paused("refund", {}, { origin });
    const cancelled = await paused("refund", {}, { origin });
    await engine.calls.durable.decide(refused.id, { decision: "refuse" });
    await engine.calls.durable.cancel(cancelled.id);
    for (const [{ callId }, code] of [
      [refused, "approval_refused"],
      [cancelled, "cancelled"],
    ] as const)
      await expect.poll(() => engine.calls.get(callId)).toMatchObject({ tool: "refund", code, ...origin });
    engine.off("tool:error", tell);
    expect(told.toSorted()).toEqual([refused.callId, cancelled.callId].toSorted());
  });

  test("is decided by its digest alone, once", async () => {
    const call = await paused("refund", { amount: 4 });
    await expect(engine.calls.durable.decide(call.id, { decision: "approve" })).rejects.toThrow(/digest/);
    await expect(engine.calls.durable.decide(call.id, { decision: "approve", digest: "other" })).rejects.toThrow();
    await engine.calls.durable.decide(call.id, { decision: "refuse" });
    await expect(approve({ ...call })).rejects.toThrow();
    expect(await ended(call.id)).toMatchObject({ error: { code: "approval_refused" } });
    expect(effects).toEqual([]);
  });

  test("is asked for by a rule where its condition holds", async () => {
    expect(await engine.execute({ name: "pay", arguments: { amount: 100 } })).toMatchObject({ output: { paid: 100 } });
    const call = await paused("pay", { amount: 101 });
    expect(call.waits).toMatchObject([{ from: "policy.approvals[0]", message: "large payments" }]);
  });

  test("is decided by those whom the rule names, and by the key that made it only where the rule says so", async () => {
    const origin = { surface: "http", key: "boss-1" };
    const call = await paused("self", {}, { origin });
    const decide = (key: string) =>
      engine.calls.durable.decide(call.id, { decision: "refuse" }, { key }).then((one) => one?.state);
    await expect(decide("clerk")).rejects.toMatchObject({ code: "forbidden" });
    expect(await decide("boss-1")).toBe("ready");
    const other = await paused("refund", {}, { origin });
    await expect(
      engine.calls.durable.decide(other.id, { decision: "refuse" }, { key: "boss-1" }),
    ).rejects.toMatchObject({ code: "forbidden" });
  });

  test("is refused where its caller says that it must not wait", async () => {
    const { error } = await engine.execute({ name: "refund", arguments: {} }, { pause: "refuse" });
    expect(error?.code).toBe("cannot_pause");
  });

  test("is waited for where its caller says so, and has its key meanwhile", async () => {
    const keyed = { name: "refund", arguments: { amount: 11 } };
    const first = await engine.execute(keyed, { idempotencyKey: "order-11" });
    const id = idOf(first);
    const again = await engine.execute(keyed, { idempotencyKey: "order-11" });
    expect(again.error).toMatchObject({ code: "paused", details: { id } });
    const waiting = engine.execute(keyed, { idempotencyKey: "order-11", pause: "wait" });
    const call = await engine.calls.durable.get(id);
    if (call !== undefined) await approve(call);
    expect(await waiting).toMatchObject({ output: { paid: 11 } });
    expect(await engine.execute(keyed, { idempotencyKey: "order-11" })).toMatchObject({ output: { paid: 11 } });
    expect(effects).toEqual([{ amount: 11 }]);
  });

  test("is asked for by a listener", async () => {
    const listener = (event: { readonly tool: string; requireApproval(reason: string): void }): void => {
      if (event.tool === "self") event.requireApproval("the listener says so");
    };
    engine.on("tool:pre", listener);
    const call = await paused("self");
    engine.off("tool:pre", listener);
    expect(call.waits).toMatchObject([{ from: "listener", message: "the listener says so" }]);
  });

  test("belongs to its tenant", async () => {
    const call = await paused("refund", {}, { tenant: "acme" });
    expect(await engine.calls.durable.get(call.id, { tenant: "other" })).toBeUndefined();
    const { calls } = await engine.calls.durable.list({ tenant: "acme", state: "paused" });
    expect(calls.map(({ id }) => id)).toEqual([call.id]);
    await engine.calls.durable.cancel(call.id, "no longer");
    expect(await ended(call.id)).toMatchObject({ error: { code: "cancelled" } });
  });
});

describe("a tool that waits", () => {
  test("goes on with the same randomness, and with the person's answer", async () => {
    const call = await paused("ask");
    expect(call.waits).toMatchObject([{ kind: "approval", message: "Go on?", tool: null }]);
    await approve(call, { data: { yes: true }, actor: "ada" });
    const { output } = (await ended(call.id)) as { output: { before: number; after: number; answer: unknown } };
    expect(call.waits).toMatchObject([{ arguments: { before: output.before } }]);
    expect(output.answer).toMatchObject({ approved: true, data: { yes: true }, actor: "ada" });
  });

  test("gets signals in their order, also those that came before it waited", async () => {
    const call = await paused("wait", { name: "payment" });
    await engine.calls.durable.signal(call.id, "payment", { sum: 1 });
    await engine.calls.durable.signal(call.id, "payment", { sum: 2 });
    expect(await ended(call.id)).toMatchObject({ output: [{ sum: 1 }, { sum: 2 }] });
  });

  test("tells each thing that it has waited for, once, and metrics count the time", async () => {
    const settled: string[] = [];
    const listener = ({ wait, state }: { readonly wait: string; readonly state: string }): void =>
      void settled.push(`${wait} ${state}`);
    engine.on("call:settle", listener);
    const call = await paused("wait", { name: "order" });
    await engine.calls.durable.signal(call.id, "order", 1);
    await engine.calls.durable.signal(call.id, "order", 2);
    await ended(call.id);
    const gated = await paused("refund", { amount: 3 });
    await approve(gated);
    await ended(gated.id);
    engine.off("call:settle", listener);
    expect(settled).toEqual(["signal arrived", "signal arrived", "approval approved"]);
    const metrics = await engine.metrics();
    for (const wait of ["signal", "approval"])
      expect(
        Number(new RegExp(`^glovebox_call_wait_seconds_count\\{wait="${wait}"\\} (\\d+)$`, "m").exec(metrics)?.[1]),
      ).toBeGreaterThan(0);
    expect(metrics).toMatch(/^glovebox_call_pauses_total\{tool="refund",wait="approval"\} [1-9]\d*$/m);
  });

  test("goes on at its time, and its clock with it", async () => {
    const date = Date.now() + 2_000;
    const call = await paused("sleep", { date });
    expect(call.waits).toMatchObject([{ kind: "time", until: new Date(date).toISOString() }]);
    const { output } = await ended(call.id);
    expect(output).toBeGreaterThanOrEqual(date);
  });

  test("hears which signal did not come in time", async () => {
    const { id } = await paused("late");
    expect(await ended(id)).toMatchObject({
      output: { code: "approval_refused", message: 'the signal "m" did not come in time' },
    });
  });

  test("waits for each of its child calls that needs an approval, whatever their order", async () => {
    let call = await paused("five");
    expect(call.waits.map(({ state }) => state)).toEqual(["open", "open", "open", "open", "open"]);
    const [one, two, three, four, five] = call.waits;
    for (const wait of [four, two, five, one, three]) {
      if (wait?.kind !== "approval") throw new Error("the call waits for something else");
      const decision = wait === two ? "refuse" : "approve";
      await engine.calls.durable.decide(call.id, { wait: wait.step, decision, digest: wait.digest });
    }
    expect(await ended(call.id)).toMatchObject({ output: [1, "approval_refused", 3, 4, 5] });
    expect(effects).toHaveLength(4);
    call = (await engine.calls.durable.get(call.id)) ?? call;
    expect(call.state).toBe("ended");
  });

  test("has one outcome of what it has waited for, in the run that hears of it", async () => {
    const outcomes: string[] = [];
    const tell = ({ capability, outcome }: { readonly capability: string; readonly outcome: string }): void =>
      void outcomes.push(`${capability} ${outcome}`);
    engine.on("capability:call", tell);
    const call = await paused("parent");
    const [wait] = call.waits;
    const child = await engine.calls.durable.get(wait?.kind === "call" ? wait.id : "");
    if (child === undefined) throw new Error("the child is not kept");
    await approve(child);
    await ended(call.id);
    engine.off("capability:call", tell);
    expect(outcomes).toEqual(["pause ok", "tools ok"]);
  });

  test("waits for a child call that a listener wants approved", async () => {
    const listener = (event: { readonly tool: string; requireApproval(reason: string): void }): void => {
      if (event.tool === "plain") event.requireApproval("the listener says so");
    };
    engine.on("tool:pre", listener);
    const call = await paused("calls-plain");
    const [wait] = call.waits;
    const child = await engine.calls.durable.get(wait?.kind === "call" ? wait.id : "");
    if (child === undefined) throw new Error("the child is not kept");
    await approve(child);
    expect(await ended(call.id)).toMatchObject({ output: "done" });
    engine.off("tool:pre", listener);
  });

  test("cannot wait with files that it would not find again, and hears so", async () => {
    expect(await engine.execute({ name: "scratch", arguments: {} })).toMatchObject({
      output: { code: "cannot_pause", message: expect.stringContaining("files in its scratch folder") as string },
    });
  });

  test("waits for a child call that waits, which is kept as its child", async () => {
    const parent = await paused("parent");
    expect(parent.waits).toMatchObject([{ kind: "call" }]);
    const [wait] = parent.waits;
    const child = await engine.calls.durable.get(wait?.kind === "call" ? wait.id : "");
    if (child === undefined) throw new Error("the child is not kept");
    expect(child).toMatchObject({ parentId: parent.id, tool: "ask" });
    await approve(child);
    expect(await ended(parent.id)).toMatchObject({ output: { child: { answer: { approved: true } } } });
    expect(await engine.calls.get(child.callId)).toMatchObject({ parentId: parent.callId, code: "ok" });
  });
});

describe("a rule of policy.approvals", () => {
  const approvals = [
    { tags: ["money*"], message: "moves money" },
    { tools: ["report"], tenants: ["beta*"] },
    { tools: ["files.*"], writes: true },
    { tools: ["files.free", "files.own"], approval: "never" },
    { tools: ["brief"], expiresMs: 1_000 },
  ] as const;
  const TOOLS: readonly Partial<ToolDefinition>[] = [
    { name: "transfer", tags: ["other", "money-out"] },
    { name: "look", tags: ["other"] },
    { name: "report" },
    { name: "files.write" },
    { name: "files.read", annotations: { readOnly: true } },
    { name: "files.free" },
    { name: "files.own", approval: "always" },
    { name: "brief" },
  ];
  let ruled: Engine;
  beforeAll(async () => {
    const source = "export default () => 'done';";
    const tools = TOOLS.map((tool) => ({ description: "Does it.", source, ...tool }) as ToolDefinition);
    ruled = await createEngine({ workers: 1, executor: { kind: "threads" }, tools, policy: { rules: [], approvals } });
  });
  afterAll(() => ruled.close());

  test.each([
    ["names a tag of the tool", "transfer", "", "policy.approvals[0]"],
    ["names no tag of the tool", "look", "", null],
    ["names the tenant", "report", "beta-1", "policy.approvals[1]"],
    ["names another tenant", "report", "acme", null],
    ["is about tools that write", "files.write", "", "policy.approvals[2]"],
    ["is about tools that write, and this one only reads", "files.read", "", null],
    ["is waived by another that says never", "files.free", "", null],
    ["is waived, and the tool itself asks", "files.own", "", "tool"],
  ])("that %s decides whether a call waits: %s, of the tenant %j", async (_what, name, tenant, from) => {
    const { error, output } = await ruled.execute({ name, arguments: {} }, { tenant });
    if (from === null) return expect(output).toBe("done");
    const call = await ruled.calls.durable.get(error?.code === "paused" ? (error.details?.id ?? "") : "");
    expect(call?.waits).toMatchObject([{ kind: "approval", from }]);
  });

  test("has a time to decide, after which the call is refused", async () => {
    const { error } = await ruled.execute({ name: "brief", arguments: {} });
    const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
    const [wait] = (await ruled.calls.durable.get(id))?.waits ?? [];
    expect(Date.parse(wait?.expiresAt ?? "") - Date.parse(wait?.openedAt ?? "")).toBe(1_000);
    expect(await ended(id, ruled)).toMatchObject({ error: { code: "approval_refused", details: { expired: true } } });
  });
});

test("a call goes on in another engine, with the code with which it began", async () => {
  const call = await paused("ask");
  await engine.close();
  engine = await open();
  await addTools(engine);
  const source = "export default () => 'other code';";
  await engine.register({ name: "ask", description: "ask", source, capabilities: { pause: true } });
  await approve(call);
  expect(await ended(call.id)).toMatchObject({ output: { answer: { approved: true } } });
  expect(await engine.execute({ name: "ask", arguments: {} })).toMatchObject({ output: "other code" });
});
