import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Agent, type LLM, LLMMessage, loadAgent, runConversation } from "../../../src/contrib/xaibo/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { temporaryFolder } from "../../kernel/tool/temporary.ts";

/** A project as Xaibo's are written, by its documentation. */
const DESK = fileURLToPath(new URL("../../../fixtures/contracts/xaibo/python/desk", import.meta.url));
const AGENT = readFileSync(join(DESK, "agents/desk.yml"), "utf8");
/** The first tool in Python starts the interpreter. */
const START_MS = 120_000;
const FUNCTIONS = ["tools-notes-count_words", "tools-notes-find_note", "tools-notes-plain", "tools-numbers-add_all"];

let engine: Engine;
let agent: Agent;

const llm: LLM = { generate: async (messages) => ({ content: `model: ${String(messages.at(-1)?.content)}` }) };

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
  agent = await loadAgent(engine, AGENT, { folder: DESK, llm });
}, START_MS);
afterAll(() => engine.close());

const run = (name: string, args: Record<string, unknown>) => agent.provider.execute_tool(name, args);

describe("an agent with several providers", { timeout: START_MS }, () => {
  test("has the tools of each, by the names that Xaibo gives them [E04 E48]", async () => {
    expect(agent.modules.filter(({ state }) => state === "provides")).toEqual([
      { id: "functions", state: "provides", tools: FUNCTIONS, reason: null },
      { id: "books", state: "provides", tools: ["find_book"], reason: null },
      { id: "prompts", state: "provides", tools: ["summarize"], reason: null },
    ]);
    const listed = (await agent.provider.list_tools()).map(({ name }) => name);
    expect(listed.toSorted()).toEqual(["find_book", "summarize", ...FUNCTIONS]);
  });

  test("has each call answered by the provider that lists the tool", async () => {
    expect(await run("find_book", { title: "Emma" })).toMatchObject({ success: true, result: "Emma: shelf A" });
    expect(await run("summarize", { text: "$$params.text$$" })).toMatchObject({
      result: "model: Summarize in one line: $$params.text$$",
    });
    expect(await run("tools-numbers-add_all", { numbers: [1, 2.4] })).toMatchObject({ result: 3 });
    expect((await run("nobody", {})).error).toContain("Tool 'nobody' not found. Available tools: [");
  });

  test("has its loop run: a model calls a function, and answers with its result [E40 E41]", async () => {
    const scripted: LLM = {
      generate: async (messages) => {
        const last = messages.at(-1);
        if (last?.role === "function") return { content: `There are ${last.content}.` };
        return { tool_calls: [{ id: "1", name: "tools-notes-count_words", arguments: { text: "a b c" } }] };
      },
    };
    const messages = [LLMMessage.user("How many words?")];
    expect((await runConversation({ llm: scripted, provider: agent.provider, messages })).content).toBe("There are 3.");
  });
});

describe("a function that is marked as a tool", { timeout: START_MS }, () => {
  const toolOf = async (name: string) => (await agent.provider.list_tools()).find((one) => one.name === name);

  test("has its description and its parameters from its docstring and its annotations", async () => {
    expect(await toolOf("tools-notes-count_words")).toEqual({
      name: "tools-notes-count_words",
      description: "Counts the words of a text.\n\nWhatever stands between blanks is a word.",
      parameters: {
        text: { type: "string", description: "The text,\nof any length", required: true },
        unit: { type: "string", description: "What is counted", required: false, enum: ["words", "letters"] },
      },
    });
    expect(await toolOf("tools-notes-find_note")).toMatchObject({
      description: "Finds a note.",
      parameters: { title: { description: "Its title" }, limit: { type: "integer", required: false } },
    });
    expect((await toolOf("tools-numbers-add_all"))?.parameters).toEqual({
      numbers: { type: "array", description: "The numbers", required: true },
      exact: { type: "boolean", description: "Whether it is rounded", required: false },
      extra: { type: "object", required: false },
    });
  });

  test("may be asynchronous, and import modules beside its own", async () => {
    expect(await run("tools-notes-count_words", { text: "one two" })).toMatchObject({ result: 2 });
    expect(await run("tools-notes-count_words", { text: "one", unit: "letters" })).toMatchObject({ result: 3 });
    expect((await run("tools-notes-count_words", { text: "one", unit: "lines" })).success).toBe(false);
  });

  test("takes any value where it has no annotation, and its name where it has no docstring", async () => {
    expect((await toolOf("tools-notes-plain"))?.description).toBe("plain");
    expect(await run("tools-notes-plain", { value: 3 })).toMatchObject({ result: [3, "int"] });
    expect(await run("tools-notes-plain", { value: { a: 1 } })).toMatchObject({ result: [{ a: 1 }, "dict"] });
  });

  test("fails with the type and the words of what it raises [E06]", async () => {
    const { error } = await engine.execute({ name: "tools-notes-find_note", arguments: { title: "" } });
    expect(error).toMatchObject({ code: "tool_error", type: "LookupError", message: "no title" });
  });

  test("is a tool of its file as well, without an agent", async () => {
    const folder = await temporaryFolder({ "plain.py": readFileSync(join(DESK, "tools/numbers.py"), "utf8") });
    await engine.register(join(folder, "plain.py"));
    const call = { name: "plain-add_all", arguments: { numbers: [1.5], exact: true } };
    expect((await engine.execute(call)).output).toBe(1.5);
    await engine.unregister("plain-add_all");
  });
});

test("the providers of a tool's own code are there: functions, and a collector of providers", async () => {
  const source = `
from xaibo.primitives.modules.tools import PythonToolProvider, ToolCollector
from xaibo.primitives.modules.tools.python_tool_provider import tool

def double(x: int): return 2 * x
@tool
def fail(): raise ValueError("no")

async def execute(input):
    functions = PythonToolProvider({"tool_functions": [double]})
    both = ToolCollector([functions, PythonToolProvider({"tool_functions": [fail]})])
    names = [one.name for one in await both.list_tools()]
    results = [await both.execute_tool(name, {"x": 4} if "double" in name else {}) for name in [*names, "none"]]
    return [names, [[one.success, one.result, one.error] for one in results], (await functions.execute_tool("none", {})).error]
del fail.__xaibo_tool__
`;
  const definition = { name: "collects", description: "d", runtime: "python", source } as const;
  await engine.register(definition);
  expect((await engine.execute({ name: "collects", arguments: {} })).output).toEqual([
    ["tool-double", "tool-fail"],
    [
      [true, 8, null],
      [false, null, "no"],
      [false, null, "Could not find none"],
    ],
    "Tool none not found",
  ]);
});

describe("an agent that cannot be loaded says why, and registers nothing", { timeout: START_MS }, () => {
  const PYTHON = "xaibo.primitives.modules.tools.PythonToolProvider";
  const functions = (id: string, ...tool_packages: string[]) => ({ id, module: PYTHON, config: { tool_packages } });

  test.each([
    ["is no object", "just text", "the agent must be an object with an id and modules"],
    ["is not YAML", "id: [", "the agent is not YAML"],
    ["has a module that is no class", { id: "a", modules: [{ id: "m", module: "../x" }] }, "modules/0/module must be"],
    [
      "names a package that is not there",
      { id: "a", modules: [functions("f", "gone.notes")] },
      'module "f": it needs the Python module "gone.notes", and the folder has neither gone/notes.py nor gone/notes/',
    ],
    [
      "names a module that is not there",
      { id: "a", modules: [functions("f", "tools.gone")] },
      'it needs the Python module "tools.gone"',
    ],
    [
      "has functions none of which is a tool",
      { id: "a", modules: [functions("f", "tools.words")] },
      'module "f": its list of tools is empty; mark functions with @tool',
    ],
    [
      "has a tool that the engine has",
      { id: "a", modules: [functions("f", "tools.numbers")] },
      'module "f" has the tool "tools-numbers-add_all", which the engine has already',
    ],
    [
      "has two providers and no exchange",
      { id: "a", modules: [functions("f", "fresh"), functions("g", "fresh")] },
      'module "g" has the tool "fresh-ping", as module "f" does',
    ],
    [
      "has an exchange with a module that is not there",
      { id: "a", modules: [], exchange: [{ module: "o", protocol: "P", provider: "x" }] },
      'exchange/0 names the module "o", and modules has none with this id',
    ],
    [
      "says that a class provides tools, which does not",
      { id: "a", modules: [{ id: "c", module: "library.Tool", provides: ["ToolProviderProtocol"] }] },
      'module "c": ',
    ],
  ])("one that %s", async (_what, config, message) => {
    const fresh = "from xaibo.primitives.modules.tools.python_tool_provider import tool\n@tool\ndef ping(): return 1\n";
    const folder = config === "just text" ? DESK : await projectWith({ "fresh.py": fresh });
    const before = engine.list().map(({ name }) => name);
    const error = await loadAgent(engine, config, { folder }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: "AgentError", message: expect.stringContaining(message) });
    expect(engine.list().map(({ name }) => name)).toEqual(before);
  });

  test("a provider that it cannot have is refused with the reason, and stands in no other's way", async () => {
    const modules = [
      { id: "mcp", module: "xaibo.primitives.modules.tools.MCPToolProvider", config: { servers: [] } },
      { id: "once", module: "xaibo.primitives.modules.tools.OneShotTools", config: { tools: [] } },
      functions("f", "fresh"),
    ];
    const folder = await projectWith({
      "fresh.py": "from xaibo.primitives.modules.tools.python_tool_provider import tool\n@tool\ndef pong(): return 1\n",
    });
    const loaded = await loadAgent(engine, { id: "a", modules }, { folder });
    expect(loaded.modules).toMatchObject([
      { id: "mcp", state: "refused", reason: expect.stringContaining("Model Context Protocol") },
      { id: "once", state: "refused", reason: "it needs a model; give the option llm" },
      { id: "f", state: "provides", tools: ["fresh-pong"] },
    ]);
  });

  async function projectWith(more: Record<string, string>): Promise<string> {
    const names = ["library.py", "tools/__init__.py", "tools/numbers.py", "tools/words.py"];
    const files = names.map((name) => [name, readFileSync(join(DESK, name), "utf8")] as const);
    return temporaryFolder({ ...Object.fromEntries(files), ...more });
  }
});
