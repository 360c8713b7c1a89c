import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  createEngine,
  defineCapability,
  type Engine,
  type EngineOptions,
  type UndoReport,
} from "../../../../src/glovebox/index.ts";

/* A module may say itself how its calls are undone: by a function, which runs in an isolate as the tool does. */

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
        return effects.length;
      },
    },
  },
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-undo-function-"));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(() => {
  effects = [];
  failing = new Set();
});

const BUYS = 'export default ({ item }, { host }) => host.shop.do("buy " + item);';
const RETURNS =
  'export const undo = ({ input, output }, { host }) => host.shop.do(["return", output, input.item].join(" "));';
const capabilities = { shop: true } as const;

async function open(name: string, approvals: NonNullable<EngineOptions["policy"]>["approvals"] = []): Promise<Engine> {
  const engine = await createEngine({
    workers: 1,
    executor: { kind: "threads" },
    capabilities: [shop],
    calls: { path: join(folder, `${name}.sqlite`) },
    policy: { rules: [{ allow: { shop: true, tools: ["*"] } }], approvals },
  });
  const description = "A tool.";
  await engine.register({ name: "own", description, capabilities, source: `${BUYS}\n${RETURNS}` });
  await engine.register({
    name: "declared",
    description,
    capabilities,
    undo: { tool: "back", arguments: { item: "/input/item" } },
    source: BUYS,
  });
  await engine.register({
    name: "back",
    description,
    capabilities,
    source: 'export default ({ item }, { host }) => host.shop.do("back " + item);',
  });
  await engine.register({
    name: "trip",
    description,
    capabilities: { tools: ["*"] },
    source: `export default async ({ calls, fails }, { host }) => {
      for (const [tool, args] of calls) await host.tools.call(tool, args);
      if (fails) throw new Error("no more");
    };`,
  });
  return engine;
}

/** Calls tools one after the other, in one call that is kept; its durable id. */
async function trip(engine: Engine, calls: readonly (readonly [string, object])[], fails = false): Promise<string> {
  const { metadata } = await engine.execute({ name: "trip", arguments: { calls, fails } }, { undo: "onFailure" });
  return metadata.durableId ?? "";
}

function outcomes(report: UndoReport | undefined): readonly string[] {
  return (report?.effects ?? []).map(({ step, tool, outcome }) => `${step} ${tool} ${outcome}`);
}

test("a call that fails is undone by functions of modules and by other tools, the last effect first, and once", async () => {
  await using engine = await open("mixed");
  const buy = ["own", "declared", "own", "declared"].map((tool, at) => [tool, { item: at + 1 }] as const);
  const id = await trip(engine, buy, true);
  const report = await engine.calls.undo(id);
  expect(effects.slice(4)).toEqual(["back 4", "return 3 3", "back 2", "return 1 1"]);
  expect(outcomes(report)).toEqual(["4 declared undone", "3 own undone", "2 declared undone", "1 own undone"]);
  expect(await engine.calls.undo(id)).toEqual(report);
  expect(effects).toHaveLength(8);
});

test("the function gets the arguments with their defaults, the output, and the config of the tool", async () => {
  await using engine = await open("values");
  const item = { type: "string", default: "a book" };
  const info = await engine.register({
    name: "sends",
    description: "Sends.",
    capabilities,
    config: { to: "ada" },
    inputSchema: { type: "object", properties: { item }, additionalProperties: false },
    source: `export default (input, { host }) => host.shop.do("send").then((n) => ({ n, big: "x" }));
      export const undo = (call, { host, config, tool }) => host.shop.do(JSON.stringify([call, config, tool.name]));`,
  });
  expect(info.undo).toBe("function");
  await engine.calls.undo(await trip(engine, [["sends", {}]]));
  const call = { input: { item: "a book" }, output: { n: 1, big: "x" } };
  expect(JSON.parse(effects[1] ?? "")).toEqual([call, { to: "ada" }, "sends"]);
});

test("a function that throws has failed, the others are done, and what it gives back is nobody's", async () => {
  await using engine = await open("throws");
  await engine.register({
    name: "odd",
    description: "Its undo gives back what is no JSON.",
    capabilities,
    outputSchema: { type: "number" },
    source: `${BUYS}\nexport const undo = () => () => 1n;`,
  });
  const id = await trip(
    engine,
    ["own", "own", "odd"].map((tool, at) => [tool, { item: at + 1 }] as const),
  );
  failing = new Set(["return 2 2"]);
  const report = await engine.calls.undo(id);
  expect(outcomes(report)).toEqual(["3 odd undone", "2 own failed", "1 own undone"]);
  expect(report?.effects?.[1]?.message).toContain("own: ");
  failing = new Set();
  expect(outcomes(await engine.calls.undo(id, undefined, { again: true }))[1]).toBe("2 own undone");
  expect(effects.slice(3)).toEqual(["return 1 1", "return 2 2"]);
});

test("nobody calls the function but a call that undoes", async () => {
  await using engine = await open("hidden");
  const { error } = await engine.execute({ name: "own", arguments: { item: 1 }, command: "undo" });
  expect(error).toMatchObject({ code: "invalid_arguments", message: 'tool "own" has no commands' });
  for (const name of ["(1)", "own.undo", "undo"]) {
    const failed = await engine.execute({ name: "trip", arguments: { calls: [[name, {}]] } });
    expect(failed.error?.message).toContain(`there is no tool "${name}"`);
  }
  expect(engine.list().map(({ name }) => name)).toEqual(["back", "declared", "own", "trip"]);
  expect(effects).toEqual([]);
});

test("the function waits for an approval where the call did, and its arguments decide that", async () => {
  const when = { properties: { item: { const: "gold" } } };
  await using engine = await open("approved", [{ tools: ["own"], when }]);
  const { durable } = engine.calls;
  const approve = async (id: string): Promise<unknown> => {
    await expect.poll(async () => (await durable.get(id))?.state).toBe("paused");
    const wait = (await durable.get(id))?.waits.find(({ state }) => state === "open");
    await durable.decide(id, { decision: "approve", digest: wait?.kind === "approval" ? wait.digest : "" });
    return wait;
  };
  const calls = [["own", { item: "tin" }] as const, ["own", { item: "gold" }] as const];
  const { error } = await engine.execute({ name: "trip", arguments: { calls } }, { durable: true });
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  await approve(id);
  await expect.poll(async () => (await durable.get(id))?.state).toBe("ended");
  await engine.calls.undo(id, undefined, { waitMs: 0 });
  expect(await approve(`${id}.undo`)).toMatchObject({
    tool: "own",
    message: expect.stringContaining("to undo a call: "),
    arguments: { input: { item: "gold" }, output: 2 },
  });
  expect(outcomes(await engine.calls.undo(id))).toEqual(["2 own undone", "1 own undone"]);
  expect(effects).toEqual(["buy tin", "buy gold", "return 2 gold", "return 1 tin"]);
});

test("a tool of defineTool has the function beside run, in the half of its module that calls evaluate", async () => {
  await using engine = await open("defined");
  const path = join(folder, "defined", "buys.ts");
  await mkdir(join(folder, "defined"));
  const text = `import { defineTool } from "glovebox/tool";
    export default defineTool({
      name: "buys",
      description: "Buys.",
      capabilities: { shop: true },
      inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] } as const,
      run: async ({ item }, { host }): Promise<number> => host.shop.do("buy " + item),
      examples: [],
      async undo({ input, output }: { input: { item: string }; output: number }, { host }) {
        await host.shop.do("return " + output.toFixed(1) + input.item);
      },
    });`;
  await writeFile(path, text);
  const info = await engine.register({ path });
  expect(info).toMatchObject({ name: "buys", undo: "function", parses: "host", script: { describe: {} } });
  expect(outcomes(await engine.calls.undo(await trip(engine, [["buys", { item: "a" }]])))).toEqual(["1 buys undone"]);
  expect(effects).toEqual(["buy a", "return 1.0a"]);
});

test("a tool that says twice how it is undone, or by what is no function, is refused", async () => {
  await using engine = await open("refused");
  const undo = { tool: "back", arguments: {} };
  const register = (source: string, more: object = {}) =>
    engine.register({ name: "wrong", description: "Wrong.", source, ...more });
  await expect(register(`${BUYS}\n${RETURNS}`, { undo })).rejects.toThrow(
    "has an undo in its definition and a function",
  );
  await expect(register(`${BUYS}\nexport const undo = {};`)).rejects.toThrow("exports undo, which is no function");
});
