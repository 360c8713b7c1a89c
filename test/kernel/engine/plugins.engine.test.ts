import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createEngine,
  defineCapability,
  type Plugin,
  readRecording,
  replayCall,
  unwrap,
} from "../../../src/glovebox/index.ts";
import { startEngine } from "../../../src/kernel/engine/engine.ts";
import type { ExecutorFactory } from "../../../src/kernel/executor/executor-factory.ts";
import { ThreadsExecutor } from "../../../src/kernel/executor/threads/threads-executor.ts";
import { resolvePlugins } from "../../../src/kernel/engine/plugin.ts";
import type { RuntimeReader, RuntimeSource } from "../../../src/kernel/tool/runtimes/runtime.ts";
import { ContractError, type ModuleReader } from "../../../src/standard/contracts.ts";

const reader: ModuleReader = {
  name: "cards",
  readModule(described, name) {
    const { title } = Object(described) as { readonly title?: unknown };
    if (typeof title !== "string") throw new ContractError("cards", "/title", "must be a text");
    return [{ name, description: title, inputSchema: { type: "object" } }];
  },
  readResult: (answer) => ({ ok: true, output: (answer as { readonly output: unknown }).output }),
  outputAt: "/output",
};
/** Freezes nothing itself: its class is one of the realm's. */
const ADAPTER = `
class Deck { draw() { return 7; } }
export const adapter = {
  name: "cards",
  isDistinctive: true,
  classes: [Deck],
  matches: ({ card }) => typeof card === "object",
  describe: ({ card }) => ({ title: card.title }),
  open: ({ card }) => async (input, { host }) => ({ output: await card.play(input, new Deck(), host) }),
};`;
/** Each line of its code is a number to add; the first line describes the tool. */
const ENGINE = `
export function createEngine() {
  return {
    connect() {},
    load: (code) => () => {
      const [description, ...numbers] = code.split("\\n");
      const sum = numbers.reduce((all, one) => all + Number(one), 0);
      return { spec: { description }, default: ({ add }) => sum + add };
    },
  };
}`;
const FILES = {
  "adapter.js": ADAPTER,
  "seven.js": `export const card = { title: "Seven", play: async ({ add }, deck, host) => deck.draw() + add + (await host.luck.more({})) };
export const spec = { capabilities: { luck: true } };`,
  "cheat.js": `export const card = { title: "Cheat", play: (_, deck) => {
  try { Object.getPrototypeOf(deck).draw = () => 0; } catch (error) { return error.name; }
} };`,
  "engine.js": ENGINE,
  "five.sum": "Adds to five.\n2\n3",
  "odd.js": "export const card = { title: 1 };",
};
const CALL = { name: "seven", arguments: { add: 1 } };
const policy = { rules: [{ tools: ["*"], allow: { luck: true } }] };
const luck = defineCapability({
  name: "luck",
  methods: { more: { input: { type: "object" }, output: { type: "integer" }, handler: () => 100 } },
});
let folder: string;
let cards: Plugin;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-plugin-"));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  cards = {
    name: "cards",
    contracts: [{ reader, adapter: pathToFileURL(join(folder, "adapter.js")) }],
    capabilities: [luck],
  };
});

afterAll(() => rmSync(folder, { recursive: true }));

describe("a plugin from outside", () => {
  test("brings a contract and a capability, beside those of this package", async () => {
    const tools = ["seven.js", "cheat.js"].map((file) => join(folder, file));
    await using engine = await createEngine({ workers: 1, plugins: [cards], policy, tools });
    await engine.register("fixtures/tools/slugify");
    expect(engine.list().map(({ name, contract }) => [name, contract])).toEqual([
      ["cheat", "cards"],
      ["seven", "cards"],
      ["slugify", "glovebox"],
    ]);
    expect(unwrap(await engine.execute(CALL))).toBe(108);
    expect(unwrap(await engine.execute({ name: "cheat", arguments: {} }))).toBe("TypeError");
    expect(unwrap(await engine.execute(CALL))).toBe(108);
  });

  test("is needed by its tools: without it, the engine says what a module has to export", async () => {
    await expect(createEngine({ workers: 1, tools: [join(folder, "seven.js")] })).rejects.toMatchObject({
      code: "load_error",
      message: expect.stringContaining("must export default a function"),
    });
  });

  test("is needed to replay a recording of its tools", async () => {
    await using engine = await createEngine({
      workers: 1,
      plugins: [cards],
      policy,
      tools: [join(folder, "seven.js")],
    });
    const { metadata } = await engine.execute(CALL, { record: true });
    const recording = readRecording(JSON.stringify(metadata["recording"]));
    expect(await replayCall(recording, { plugins: [cards] })).toMatchObject({ isSame: true });
    await expect(replayCall(recording)).rejects.toThrow("no plugin brings the contract cards");
  });

  test("refuses what a module says of itself with a `load_error` that has the contract and the pointer", async () => {
    await expect(createEngine({ workers: 1, plugins: [cards], tools: [join(folder, "odd.js")] })).rejects.toMatchObject(
      {
        code: "load_error",
        details: { contract: "cards", pointer: "/title" },
      },
    );
  });
});

describe("a runtime from outside", () => {
  const sums = (): Plugin => {
    const reader: RuntimeReader = {
      extensions: [".sum"],
      bundle: async (code) => {
        const text = code.kind === "text" ? code.text : await readFile(pathOf(code), "utf8");
        return { runtime: "sums", text, bytes: text.length, sourceMap: "", sources: [] };
      },
    };
    return { name: "sums", runtimes: [{ name: "sums", engine: pathToFileURL(join(folder, "engine.js")), reader }] };
  };
  const FIVE = { name: "five", arguments: { add: 1 } };

  test("has its files and definitions registered, and their calls run, replay and know each other as all do", async () => {
    await using engine = await createEngine({ workers: 1, plugins: [sums()], tools: [join(folder, "five.sum")] });
    await engine.register({ name: "ten", description: "Adds to ten.", runtime: "sums", source: "\n10" });
    expect(engine.list().map(({ name, runtime }) => [name, runtime])).toEqual([
      ["five", "sums"],
      ["ten", "sums"],
    ]);
    const { metadata, output } = await engine.execute(FIVE, { record: true });
    expect(output).toBe(6);
    expect(unwrap(await engine.execute({ name: "ten", arguments: { add: 1 } }))).toBe(11);
    const recording = readRecording(JSON.stringify(metadata["recording"]));
    expect(await replayCall(recording, { plugins: [sums()] })).toMatchObject({ isSame: true });
  });

  test("is needed by its tools, and the error has the names of those that there are", async () => {
    await using engine = await createEngine({ workers: 1 });
    const definition = { name: "ten", description: "Adds to ten.", runtime: "sums", source: "\n10" };
    await expect(engine.register(definition)).rejects.toMatchObject({
      code: "load_error",
      message: 'tool "ten" has the runtime "sums", but there are javascript, python, wasi, native only',
    });
    await expect(engine.register(join(folder, "five.sum"))).rejects.toMatchObject({ code: "load_error" });
  });

  test("whose module no worker can import ends the engine's start with the worker's error", async () => {
    const runtime = { name: "sums", worker: new URL("file:///nowhere/worker.js") };
    await expect(createEngine({ workers: 1, plugins: [{ name: "sums", runtimes: [runtime] }] })).rejects.toMatchObject({
      code: "executor_lost",
      message: expect.stringMatching(/Cannot find module|restricted/),
    });
  });

  test("without an engine for its realms, has each of its calls fail with the reason", async () => {
    const [{ reader } = {}] = sums().runtimes ?? [];
    if (reader === undefined) throw new Error("no reader");
    const plugins = [{ name: "sums", runtimes: [{ name: "sums", reader }] }];
    await expect(createEngine({ workers: 1, plugins, tools: [join(folder, "five.sum")] })).rejects.toMatchObject({
      code: "load_error",
      message: expect.stringContaining("the runtime sums has no engine"),
    });
  });
});

function pathOf(code: Exclude<RuntimeSource, { readonly kind: "text" }>): string {
  return code.kind === "file" ? code.path : join(code.folder, code.entry);
}

test("a plugin's executor runs the calls of an engine that names its kind, and alone has its options", async () => {
  const given: unknown[] = [];
  const executor: ExecutorFactory<{ readonly lostMs: number }> = {
    kind: "ours",
    options: ["lostMs"],
    resolve: ({ lostMs = 5 }) => ({ lostMs }),
    load: async ({ warmIsolates, spinMs }, own) => {
      given.push(own);
      return (host) => new ThreadsExecutor({ ...host, warmIsolates, spinMs });
    },
  };
  const plugins = [{ name: "ours", executor }];
  await using engine = await startEngine({ workers: 1, plugins, executor: "ours", tools: ["fixtures/tools/slugify"] });
  expect(unwrap(await engine.execute({ name: "slugify", arguments: { text: "A b" } }))).toBeTruthy();
  expect(given).toEqual([{ lostMs: 5 }]);
  const wrong = { plugins, executor: { kind: "threads", lostMs: 1 } };
  await expect(startEngine(wrong)).rejects.toThrow('executor.lostMs is only for executor "ours"');
  await expect(startEngine({ executor: "ours" })).rejects.toThrow('executor "ours" is not one of process, threads');
});

test("an engine without any plugins knows no contract but its own", async () => {
  await using engine = await startEngine({ workers: 1, tools: ["fixtures/tools/slugify"] });
  expect(engine.get("slugify")).toMatchObject({ contract: "glovebox" });
  await expect(engine.register("fixtures/contracts/strands/echo.js")).rejects.toMatchObject({ code: "load_error" });
});

test.each<[string, (one: Plugin) => readonly Plugin[], string]>([
  ["two of one name", (one) => [one, one], 'two are called "cards"'],
  ["two contracts of one name", (one) => [one, { ...one, name: "other" }], "has the name of another contract"],
  [
    "a contract with the name of a library",
    (one) => [ofLibrary("langchain"), renamed(one, "langchain")],
    "has the name of another contract",
  ],
  ["two runtimes of one name", () => [ofRuntime("a", "one"), ofRuntime("b", "one")], "has the name of another runtime"],
  ["a runtime called JavaScript", () => [ofRuntime("a", "javascript")], "has the name of another runtime"],
  ["a runtime with an invalid name", () => [ofRuntime("a", "C++")], "needs a name of lower-case letters"],
  ["a contract with an invalid name", (one) => [renamed(one, "No Name")], "needs a name of lower-case letters"],
])("plugins are refused: %s", (_what, plugins, why) => {
  expect(() => resolvePlugins(plugins(cards))).toThrow(why);
});

function ofLibrary(name: string): Plugin {
  return { name: "l", libraries: { names: [name], module: new URL("file:///libraries.js") } };
}

function ofRuntime(name: string, runtime: string): Plugin {
  return { name, runtimes: [{ name: runtime }] };
}

function renamed({ contracts = [] }: Plugin, name: string): Plugin {
  return { name: "p", contracts: contracts.map((one) => ({ ...one, reader: { ...reader, name } })) };
}
