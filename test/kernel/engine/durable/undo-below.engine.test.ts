import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  createEngine,
  defineCapability,
  type Engine,
  type ToolDefinition,
  type UndoneEffect,
} from "../../../../src/glovebox/index.ts";

/* A tool that calls others is undone by its own undo, or by those of what it called, as far as that is known. */

let folder: string;
let effects: string[] = [];
let failing = new Set<string>();

const shop = defineCapability({
  name: "shop",
  methods: {
    do: {
      handler: (what: unknown) => {
        if (failing.has(String(what))) throw new Error("out of order");
        effects.push(String(what));
        return null;
      },
    },
  },
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-undo-below-"));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(() => {
  effects = [];
  failing = new Set();
});

const waits = "await host.pause.signal({ name: 'go' });";
const UNDOES_ITSELF = { undo: { tool: "shop.return", arguments: { item: "/input/item" } } };
const TOOLS: readonly ToolDefinition[] = [
  {
    name: "shop.buy",
    description: "Buys.",
    capabilities: { shop: true },
    ...UNDOES_ITSELF,
    source: `export default ({ item }, { host }) => host.shop.do("buy " + item);`,
  },
  {
    name: "shop.return",
    description: "Gives back.",
    capabilities: { shop: true },
    source: `export default ({ item }, { host }) => host.shop.do("return " + item);`,
  },
  ...[
    ["leg", waits, {}],
    ["quick", "", {}],
    ["whole", waits, UNDOES_ITSELF],
    ["broken", `${waits} await host.tools.call("shop.buy", { item: item + "3" }); throw new Error("no more");`, {}],
    ["stuck", `await host.pause.signal({ name: "never" });`, {}],
    ["deep", `await host.tools.leg({ item: item + "." });`, {}],
  ].map(([name, middle, more]): ToolDefinition => ({
    name: name as string,
    description: "Buys twice.",
    capabilities: { tools: ["shop.*", "leg"], pause: true },
    ...(more as object),
    source: `export default async ({ item }, { host }) => {
        await host.tools.call("shop.buy", { item: item + "1" });
        ${middle as string}
        await host.tools.call("shop.buy", { item: item + "2" });
      };`,
  })),
  {
    name: "paints",
    description: "Does something by itself, and waits.",
    capabilities: { shop: true, pause: true },
    source: `export default async (_, { host }) => { await host.shop.do("paint"); ${waits} };`,
  },
  {
    name: "trip",
    description: "Calls tools one after the other.",
    capabilities: { tools: ["*"] },
    source: `export default async ({ calls }, { host }) => {
      for (const [tool, item] of calls) await host.tools.call(tool, { item }).catch(() => undefined);
    };`,
  },
];

function open(name: string): Promise<Engine> {
  return createEngine({
    workers: 1,
    executor: { kind: "threads" },
    capabilities: [shop],
    calls: { path: join(folder, `${name}.sqlite`) },
    policy: { rules: [{ allow: { shop: true, pause: true, tools: ["*"] } }] },
    tools: TOOLS,
  });
}

/** Makes a trip, and lets calls go on that wait; its durable id. */
async function trip(engine: Engine, ...calls: readonly (readonly [tool: string, item: string])[]): Promise<string> {
  const { durable } = engine.calls;
  await engine.execute({ name: "trip", arguments: { calls } }, { durable: true });
  const id = (await durable.list({ tool: "trip" })).calls[0]?.id ?? "";
  const goOn = async (): Promise<string | undefined> => {
    for (const call of (await durable.list({ state: "paused" })).calls)
      if (call.waits.some(({ kind, state }) => kind === "signal" && state === "open"))
        await durable.signal(call.id, "go");
    return (await durable.get(id))?.state;
  };
  await expect.poll(goOn, { timeout: 60_000 }).toBe("ended");
  expect((await durable.get(id))?.result?.error).toBe(null);
  return id;
}

function shown(report: readonly UndoneEffect[] | null | undefined): readonly string[] {
  return (report ?? []).map(({ call, step, tool, asked, outcome }) => {
    return `${call === undefined ? "" : "below "}${step} ${tool ?? asked} ${outcome}`;
  });
}

test("what a call below has called is undone at its place, the last one first", async () => {
  await using engine = await open("place");
  const id = await trip(engine, ["shop.buy", "a"], ["leg", "b"], ["shop.buy", "c"]);
  const bought = ["buy a", "buy b1", "buy b2", "buy c"];
  expect(effects).toEqual(bought);
  const report = await engine.calls.undo(id);
  expect(effects).toEqual([...bought, "return c", "return b2", "return b1", "return a"]);
  expect(shown(report?.effects)).toEqual([
    "3 shop.buy undone",
    "below 3 shop.buy undone",
    "below 1 shop.buy undone",
    "1 shop.buy undone",
  ]);
  expect(await engine.calls.undo(id)).toEqual(report);
  expect(effects).toHaveLength(8);
});

test("the calls of the calls below are undone before those that were made earlier", async () => {
  await using engine = await open("deep");
  const id = await trip(engine, ["deep", "a"]);
  expect(effects).toEqual(["buy a1", "buy a.1", "buy a.2", "buy a2"]);
  const report = await engine.calls.undo(id);
  expect(effects.slice(4)).toEqual(["return a2", "return a.2", "return a.1", "return a1"]);
  const calls = new Set(report?.effects?.map(({ call }) => call));
  expect(calls.size).toBe(2);
});

test("a call below that somebody has undone by itself is not undone again", async () => {
  await using engine = await open("once");
  const id = await trip(engine, ["leg", "a"], ["shop.buy", "b"]);
  const { calls } = await engine.calls.durable.list({ tool: "leg" });
  await engine.calls.undo(calls[0]?.id ?? "");
  expect(effects.slice(3)).toEqual(["return a2", "return a1"]);
  const report = await engine.calls.undo(id);
  expect(report?.effects?.map(({ outcome }) => outcome)).toEqual(["undone", "undone", "undone"]);
  expect(effects.slice(5)).toEqual(["return b"]);
});

test("one that fails below does not stop the others, and is tried again alone", async () => {
  await using engine = await open("fails");
  const id = await trip(engine, ["shop.buy", "a"], ["leg", "b"]);
  failing = new Set(["return b2"]);
  const first = await engine.calls.undo(id);
  expect(shown(first?.effects)).toEqual(["below 3 shop.buy failed", "below 1 shop.buy undone", "1 shop.buy undone"]);
  expect(first?.effects?.[0]?.message).toContain("shop.return: ");
  failing = new Set();
  const before = effects.length;
  const again = await engine.calls.undo(id, undefined, { again: true });
  expect(effects.slice(before)).toEqual(["return b2"]);
  expect(again?.effects?.map(({ outcome }) => outcome)).toEqual(["undone", "undone", "undone"]);
});

test("what a call below did before it failed is undone", async () => {
  await using engine = await open("broken");
  const id = await trip(engine, ["broken", "a"]);
  expect(effects).toEqual(["buy a1", "buy a3"]);
  expect(shown((await engine.calls.undo(id))?.effects)).toEqual(["below 3 shop.buy undone", "below 1 shop.buy undone"]);
  expect(effects.slice(2)).toEqual(["return a3", "return a1"]);
});

test("what a call below did that was cancelled with its caller is undone", async () => {
  await using engine = await open("stuck");
  const { error } = await engine.execute({ name: "trip", arguments: { calls: [["stuck", "a"]] } });
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  await engine.calls.durable.cancel(id);
  expect(shown((await engine.calls.undo(id))?.effects)).toEqual(["below 1 shop.buy undone"]);
  expect(effects).toEqual(["buy a1", "return a1"]);
});

test("a tool's own undo is for all that its call has called, so nothing is undone twice", async () => {
  await using engine = await open("own");
  const id = await trip(engine, ["whole", "a"]);
  expect(shown((await engine.calls.undo(id))?.effects)).toEqual(["1 whole undone"]);
  expect(effects).toEqual(["buy a1", "buy a2", "return a"]);
});

test("the report says where nobody knows what a call has called, as that was not kept", async () => {
  await using engine = await open("unknown");
  const id = await trip(engine, ["quick", "a"], ["paints", "b"]);
  const report = await engine.calls.undo(id);
  expect(shown(report?.effects)).toEqual(["2 paints no_undo", "1 quick no_undo"]);
  expect(report?.effects?.[1]?.message).toContain("what it called is not known");
  expect(effects).toEqual(["buy a1", "buy a2", "paint"]);
});
