import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { codeMode } from "../../../../src/code-mode/index.ts";
import {
  type AuditAct,
  createEngine,
  defineCapability,
  type Engine,
  type ExecuteOptions,
  type ToolDefinition,
} from "../../../../src/glovebox/index.ts";

/* What the tools of a call have done is undone backwards, each once, and the report says what cannot be. */

let folder: string;
/** What has happened outside, in its order. */
let effects: string[] = [];
/** Effects that fail, and effects whose handlers never answer. */
let failing = new Set<string>();
let hanging = new Set<string>();
/** The effect whose handler hangs. */
let hung = "";
let acts: AuditAct[] = [];

const shop = defineCapability({
  name: "shop",
  methods: {
    look: { isRead: true, handler: () => 1 },
    do: {
      handler: async (what: unknown) => {
        const name = String(what);
        if (hanging.has(name)) await new Promise(() => (hung = name));
        if (failing.has(name)) throw new Error("out of order");
        effects.push(name);
        return `id-of-${name}`;
      },
    },
  },
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-undo-"));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(() => {
  [effects, acts] = [[], []];
  failing = new Set();
  hanging = new Set();
  hung = "";
});

const capabilities = { shop: true } as const;
const TOOLS: readonly ToolDefinition[] = [
  {
    name: "shop.buy",
    description: "Buys.",
    capabilities,
    undo: { tool: "shop.return", arguments: { id: "/output/ids/0", item: "/input/an item", all: "/input" } },
    source: `export default async (input, { host }) => ({ ids: [await host.shop.do("buy " + input["an item"])] });`,
  },
  {
    name: "shop.return",
    description: "Gives back.",
    capabilities,
    source: `export default async ({ id, item, all }, { host }) => host.shop.do("return " + [id, item, typeof all].join(" "));`,
  },
  {
    name: "shop.mail",
    description: "Writes a letter.",
    capabilities,
    source: `export default async (_input, { host }) => host.shop.do("mail");`,
  },
  { name: "sum", description: "Adds.", source: "export default ({ a, b }) => a + b;" },
  {
    name: "shop.look",
    description: "Looks.",
    annotations: { readOnly: true },
    capabilities,
    source: "export default async (_input, { host }) => host.shop.look();",
  },
];

function open(name: string, approvals: readonly string[] = []): Promise<Engine> {
  return createEngine({
    workers: 1,
    executor: { kind: "threads" },
    capabilities: [shop],
    codeMode: {},
    audit: (entry) => void ("act" in entry && "callId" in entry && acts.push(entry)),
    calls: { path: join(folder, `${name}.sqlite`) },
    policy: {
      rules: [{ allow: { shop: true, kv: true, tools: ["*"] } }],
      ...(approvals.length === 0 ? {} : { approvals: [{ tools: approvals }] }),
    },
    tools: TOOLS,
  });
}

/** Runs a program that is durable; its id. */
async function run(engine: Engine, code: string, options: ExecuteOptions = { durable: true }): Promise<string> {
  const result = await codeMode(engine).run(code, options);
  expect(result.error?.code).not.toBe("paused");
  const { calls } = await engine.calls.durable.list();
  return calls.at(-1)?.id ?? "";
}

const FOUR = `for (const item of ["a", "b", "c", "d"]) await tools.shop.buy({ "an item": item });`;

test("a call that fails undoes its tool calls, the last one first, and asking again undoes nothing", async () => {
  await using engine = await open("onFailure");
  const id = await run(engine, `${FOUR} throw new Error("fifth");`, { undo: "onFailure" });
  const report = await engine.calls.undo(id);
  const back = ["d", "c", "b", "a"].map((item) => `return id-of-buy ${item} ${item} object`);
  expect(effects).toEqual(["buy a", "buy b", "buy c", "buy d", ...back]);
  expect(report).toEqual({
    id: `${id}.undo`,
    state: "ended",
    error: null,
    effects: [4, 3, 2, 1].map((step) => ({ step, asked: "program.call", tool: "shop.buy", outcome: "undone" })),
  });
  expect(await engine.calls.undo(id)).toEqual(report);
  expect(effects).toHaveLength(8);
});

test("a call that succeeds is undone only where somebody asks", async () => {
  await using engine = await open("asked");
  const id = await run(engine, `${FOUR} return 1;`, { undo: "onFailure" });
  expect(effects).toHaveLength(4);
  expect((await engine.calls.undo(id))?.effects).toHaveLength(4);
  expect(effects).toHaveLength(8);
  // The audit gathers its entries for a moment.
  await expect.poll(() => acts).toMatchObject([{ act: "undo", id, tool: "run_code" }]);
});

// The journal kept a digest in the place of arguments of more than 256 characters.
test("a call whose arguments are long is undone with them, whether it was stored from its start or has paused", async () => {
  await using engine = await open("long");
  const item = "x".repeat(2_000);
  const buys = `await tools.shop.buy({ "an item": "${item}" });`;
  const stored = await run(engine, buys);
  const { error } = await codeMode(engine).run(`${buys} await signal("go");`);
  const paused = error?.code === "paused" ? (error.details?.id ?? "") : "";
  await engine.calls.durable.cancel(paused);
  for (const id of [stored, paused]) {
    expect(await engine.calls.durable.get(id)).toMatchObject({
      effects: [{ tool: "shop.buy", state: "done", arguments: JSON.stringify({ "an item": item }).slice(0, 2_000) }],
    });
    expect((await engine.calls.undo(id))?.effects).toMatchObject([{ tool: "shop.buy", outcome: "undone" }]);
    expect(effects.at(-1)).toBe(`return id-of-buy ${item} ${item} object`);
  }
});

test("one that fails is in the report, and the others are undone", async () => {
  await using engine = await open("fails");
  const id = await run(engine, FOUR);
  failing = new Set(["return id-of-buy c c object"]);
  const report = await engine.calls.undo(id);
  expect(report?.effects?.map(({ step, outcome }) => `${step} ${outcome}`)).toEqual([
    "4 undone",
    "3 failed",
    "2 undone",
    "1 undone",
  ]);
  expect(report?.effects?.[1]?.message).toContain("shop.return: ");
});

test("one that has failed is tried again where somebody asks for that, and nothing else is", async () => {
  await using engine = await open("again");
  const id = await run(engine, `${FOUR} await tools.shop.mail({});`);
  failing = new Set(["return id-of-buy c c object"]);
  const first = await engine.calls.undo(id);
  expect(await engine.calls.undo(id)).toEqual(first);
  const before = effects.length;
  expect((await engine.calls.undo(id, undefined, { again: true }))?.effects).toEqual(first?.effects);
  expect(effects).toHaveLength(before);
  failing = new Set();
  const last = await engine.calls.undo(id, undefined, { again: true });
  expect(last).toMatchObject({ id: `${id}.undo.3`, state: "ended", error: null });
  expect(last?.effects?.map(({ step, outcome }) => `${step} ${outcome}`)).toEqual([
    "5 no_undo",
    "4 undone",
    "3 undone",
    "2 undone",
    "1 undone",
  ]);
  expect(effects.slice(before)).toEqual(["return id-of-buy c c object"]);
  expect(await engine.calls.undo(id, undefined, { again: true })).toEqual(last);
  expect(effects).toHaveLength(before + 1);
});

test("the report names what cannot be undone, and leaves out what had no effect", async () => {
  await using engine = await open("report");
  await engine.register({
    name: "trip",
    description: "Buys, writes and does more by itself.",
    capabilities: { shop: true, tools: ["shop.*", "sum"], kv: true },
    source: `export default async (_input, { host }) => {
      await host.tools.call("sum", { a: 1, b: 2 });
      await host.tools.call("shop.look", {});
      await host.tools.call("shop.buy", { "an item": "a" });
      await host.tools.call("shop.mail", {});
      await host.shop.look();
      await host.kv.get("key");
      await host.shop.do("paint");
    };`,
  });
  expect((await engine.execute({ name: "trip", arguments: {} }, { durable: true })).error).toBe(null);
  const [call] = (await engine.calls.durable.list()).calls;
  const report = await engine.calls.undo(call?.id ?? "");
  expect(report?.effects).toEqual([
    { step: 7, asked: "shop.do", tool: null, outcome: "irreversible" },
    { step: 4, asked: "tools.call", tool: "shop.mail", outcome: "no_undo" },
    { step: 3, asked: "tools.call", tool: "shop.buy", outcome: "undone" },
  ]);
});

test("the report names a POST that the call has made itself as irreversible, and no GET", async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.end("heard");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using engine = await open("posts");
  const fetch = { origins: ["*"], privateOrigins: [origin], methods: ["GET", "POST"] };
  engine.setPolicy({ rules: [{ allow: { fetch, shop: true, tools: ["*"] } }] });
  await engine.register({
    name: "post",
    description: "Reads, buys and posts.",
    capabilities: { fetch: { origins: [origin], methods: ["GET", "POST"] }, tools: ["shop.buy"] },
    source: `export default async (_input, { host }) => {
      await (await fetch("${origin}/price")).text();
      await host.tools.call("shop.buy", { "an item": "a" });
      return (await fetch("${origin}/orders?token=1", { method: "POST", body: "one" })).text();
    };`,
  });
  const { metadata } = await engine.execute({ name: "post", arguments: {} }, { durable: true });
  expect(asked).toEqual(["GET /price", "POST /orders?token=1"]);
  expect(
    (await engine.calls.undo(metadata.durableId ?? ""))?.effects?.map(({ asked: what, outcome }) => [what, outcome]),
  ).toEqual([
    ["fetch.request", "irreversible"],
    ["tools.call", "undone"],
  ]);
});

test("the report names a snippet, whose own calls nobody knows", async () => {
  await using engine = await open("snippet");
  const code = `await tools.shop.buy({ "an item": "a" });`;
  await engine.snippets.save({ name: "order", description: "Orders.", code });
  const id = await run(engine, "await tools.snippets.order({});");
  const effect = { step: 1, tool: "snippets.order", outcome: "no_undo" };
  expect((await engine.calls.undo(id))?.effects).toMatchObject([effect]);
  expect(effects).toEqual(["buy a"]);
});

test("a call that undoes passes the policy's approvals as any other", async () => {
  await using engine = await open("approvals", ["shop.return"]);
  const id = await run(engine, `await tools.shop.buy({ "an item": "a" });`);
  const asked = await engine.calls.undo(id, undefined, { waitMs: 0 });
  expect(asked).toMatchObject({ id: `${id}.undo`, effects: null, error: null });
  await expect.poll(async () => (await engine.calls.durable.get(`${id}.undo`))?.state).toBe("paused");
  const [wait] = (await engine.calls.durable.get(`${id}.undo`))?.waits ?? [];
  expect(wait).toMatchObject({ kind: "approval", tool: "shop.return", arguments: { id: "id-of-buy a", item: "a" } });
  expect(effects).toEqual(["buy a"]);
  const digest = wait?.kind === "approval" ? wait.digest : "";
  await engine.calls.durable.decide(`${id}.undo`, { decision: "approve", digest });
  expect((await engine.calls.undo(id))?.effects).toMatchObject([{ outcome: "undone" }]);
});

test("a call that a person has approved with other arguments is undone as it was made", async () => {
  await using engine = await open("edited", ["shop.buy"]);
  const { error } = await codeMode(engine).run(`await tools.shop.buy({ "an item": "a" });`);
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  const [wait] = (await engine.calls.durable.get(id))?.waits ?? [];
  const digest = wait?.kind === "approval" ? wait.digest : "";
  await engine.calls.durable.decide(id, { decision: "approve", digest, arguments: { "an item": "b" } });
  await expect.poll(async () => (await engine.calls.durable.get(id))?.state).toBe("ended");
  await engine.calls.undo(id);
  expect(effects).toEqual(["buy b", "return id-of-buy b b object"]);
});

test("a call that has waited and was cancelled is undone", async () => {
  await using engine = await open("cancelled");
  const { error } = await codeMode(engine).run(`await tools.shop.buy({ "an item": "a" }); await signal("never");`);
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  await expect(engine.calls.undo(id)).rejects.toThrow("has not ended");
  await engine.calls.durable.cancel(id);
  expect((await engine.calls.undo(id))?.effects).toMatchObject([{ tool: "shop.buy", outcome: "undone" }]);
});

test("an engine that closes in the midst of an undoing hands it over, and each is still undone once", async () => {
  const first = await open("handover");
  const id = await run(first, FOUR);
  hanging = new Set(["return id-of-buy b b object"]);
  void first.calls.undo(id).catch(() => undefined);
  // The effects before it are answered, and what became of this one is unknown.
  await expect.poll(() => hung, { timeout: 120_000 }).not.toBe("");
  await first.close({ drainMs: 0 });
  hanging = new Set();
  await using second = await open("handover");
  const undo = `${id}.undo`;
  await expect.poll(async () => (await second.calls.durable.get(undo))?.state).toBe("in_doubt");
  await second.calls.durable.decide(undo, { decision: "did_not_happen" });
  expect((await second.calls.undo(id))?.effects?.map(({ outcome }) => outcome)).toEqual(Array(4).fill("undone"));
  expect(effects.slice(4).map((one) => one.split(" ")[3])).toEqual(["d", "c", "b", "a"]);
});

test("what a call cannot be undone for is said", async () => {
  await using engine = await open("refused");
  await engine.execute({ name: "sum", arguments: { a: 1, b: 2 } }, { durable: true });
  const [call] = (await engine.calls.durable.list()).calls;
  await expect(engine.calls.undo(call?.id ?? "")).rejects.toThrow("has called no tools");
  await expect(engine.calls.undo("c_unknown")).resolves.toBe(undefined);
});
