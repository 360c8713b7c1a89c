import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toolFunction, ToolRegistry } from "../../src/contrib/strands/index.ts";
import { PYTHON_MS, PythonBench } from "./bench.ts";

let bench: PythonBench;

beforeAll(async () => {
  bench = await PythonBench.open({ policy: { rules: [{ tools: ["*"], allow: { tools: ["*"] } }] } });
  // The interpreter is made for the first tool.
  await bench.once("def execute(given): return 1");
}, PYTHON_MS);

afterAll(() => bench[Symbol.asyncDispose]());

const schemaOf = (name: string) => bench.engine.get(name)?.inputSchema as { readonly properties: object };
const output = async (name: string, args: Record<string, unknown> = {}) => (await bench.run(name, args)).output;
const failure = async (name: string, args: Record<string, unknown> = {}) => (await bench.run(name, args)).error;

describe("a function with @tool", () => {
  test("is a tool with the name, the description and the parameters that it is written with", async () => {
    expect(
      await bench.register(`
from strands import tool

@tool
def letter_counter(word: str, letter: str, times: int = 2) -> int:
    """Counts a letter in a word.

    It looks at each letter once.

    Args:
        word: The word to search
        letter: The letter to count,
            which is one character
        times: How often

    Returns:
        How often it is there
    """
    return word.count(letter) * times
`),
    ).toEqual(["letter_counter"]);
    const info = bench.engine.get("letter_counter");
    expect([info?.contract, info?.description]).toEqual([
      "strands",
      "Counts a letter in a word.\n\nIt looks at each letter once.\n\nReturns:\n    How often it is there",
    ]);
    expect(info?.inputSchema).toEqual({
      type: "object",
      properties: {
        word: { type: "string", description: "The word to search" },
        letter: { type: "string", description: "The letter to count,\nwhich is one character" },
        times: { type: "integer", description: "How often", default: 2 },
      },
      required: ["word", "letter"],
    });
    expect(await output("letter_counter", { word: "strawberry", letter: "r" })).toBe("6");
    expect((await failure("letter_counter", { word: "strawberry" }))?.code).toBe("invalid_arguments");
  });

  test("may be named, described and given a schema in other words", async () => {
    await bench.register(`
from strands.tools.decorator import tool

@tool(name="spoken", description="Says it", inputSchema={"json": {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}})
def other(what):
    return what
`);
    expect(bench.engine.get("spoken")).toMatchObject({ description: "Says it", inputSchema: { required: ["what"] } });
    expect(await output("spoken", { what: "hi" })).toBe("hi");
  });

  test("says its hints as JSON Schema, and gets values of their kinds", async () => {
    await bench.register(`
import enum, datetime
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Optional, TypedDict, Union
from strands import tool

class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"

@dataclass
class Point:
    x: int
    y: int = 0

class Named(TypedDict):
    name: str

@tool
def hinted(
    mode: Literal["a", "b"],
    tags: list[str],
    either: Union[int, str],
    when: datetime.date,
    color: Color,
    point: Point,
    named: Named,
    anything,
    note: Annotated[str, "A note"] = "none",
    limit: Optional[int] = None,
    nothing: int = None,
    more: dict[str, Any] = {},
    unique: set[int] = {1},
    ratio: float = 1,
    pair: tuple[int, str] = (1, "a"),
):
    kinds = [type(one).__name__ for one in (when, color, point, unique, ratio, pair, limit, nothing)]
    return kinds + [named["name"], note, more, anything]
`);
    const schema = bench.engine.get("hinted")?.inputSchema;
    expect(schema).toMatchObject({
      $defs: {
        Color: { enum: ["red", "blue"], title: "Color", type: "string" },
        Point: {
          properties: { x: { title: "X", type: "integer" }, y: { default: 0, title: "Y", type: "integer" } },
          required: ["x"],
          title: "Point",
          type: "object",
        },
        Named: { properties: { name: { type: "string" } }, required: ["name"] },
      },
      required: ["mode", "tags", "either", "when", "color", "point", "named", "anything"],
    });
    expect(schemaOf("hinted").properties).toEqual({
      mode: { enum: ["a", "b"], type: "string", description: "Parameter mode" },
      tags: { type: "array", items: { type: "string" }, description: "Parameter tags" },
      either: { anyOf: [{ type: "integer" }, { type: "string" }], description: "Parameter either" },
      when: { format: "date", type: "string", description: "Parameter when" },
      color: { $ref: "#/$defs/Color", description: "Parameter color" },
      point: { $ref: "#/$defs/Point", description: "Parameter point" },
      named: { $ref: "#/$defs/Named", description: "Parameter named" },
      anything: { description: "Parameter anything" },
      note: { type: "string", description: "A note", default: "none" },
      limit: { anyOf: [{ type: "integer" }, { type: "null" }], description: "Parameter limit", default: null },
      nothing: { anyOf: [{ type: "integer" }, { type: "null" }], description: "Parameter nothing", default: null },
      more: { type: "object", description: "Parameter more", default: {} },
      unique: {
        type: "array",
        items: { type: "integer" },
        uniqueItems: true,
        description: "Parameter unique",
        default: [1],
      },
      ratio: { type: "number", description: "Parameter ratio", default: 1 },
      pair: {
        type: "array",
        maxItems: 2,
        minItems: 2,
        prefixItems: [{ type: "integer" }, { type: "string" }],
        description: "Parameter pair",
        default: [1, "a"],
      },
    });
    const given = { mode: "a", tags: ["x"], either: "7", color: "red", point: { x: 1 }, named: { name: "Ann" } };
    const said = await output("hinted", { ...given, when: "2026-01-02", anything: [1] });
    expect(JSON.parse(String(said))).toEqual([
      "date",
      "Color",
      "dict",
      "set",
      "float",
      "tuple",
      "NoneType",
      "NoneType",
      "Ann",
      "none",
      {},
      [1],
    ]);
    expect((await failure("hinted", { ...given, when: "soon", anything: 1 }))?.code).toBe("invalid_arguments");
    expect((await failure("hinted", { ...given, when: "2026-01-02", anything: 1, mode: "c" }))?.code).toBe(
      "invalid_arguments",
    );
  });

  test("has annotations that are texts, and a schema without parameters where it takes none", async () => {
    await bench.register(`
from __future__ import annotations
from strands import tool

@tool
def late(count: int | None = None) -> str:
    return str(count)

@tool
def bare():
    return {"a": 1}
`);
    expect(schemaOf("bare")).toEqual({ type: "object", properties: {} });
    expect([await output("late", { count: 3 }), await output("late"), await output("bare")]).toEqual([
      "3",
      "None",
      '{"a": 1}',
    ]);
  });

  test("is told of its call, its agent and the agent's state", async () => {
    await bench.register(
      `
from strands import tool, ToolContext

@tool(context=True)
def told(word: str, tool_context: ToolContext) -> dict:
    state = tool_context.agent.state
    state.set("words", (state.get("words") or []) + [word])
    use = tool_context.tool_use
    return {
        "status": "success",
        "content": [{"json": {"use": [use["name"], use["input"]], "id": use["toolUseId"] != "", "words": state.get("words"),
                              "more": sorted(tool_context.invocation_state)}}],
    }

@tool(context="ctx")
def named(ctx, agent) -> str:
    return f"{ctx.agent is agent}"
`,
      { isolation: "shared" },
    );
    const first = { use: ["told", { word: "a" }], id: true, words: ["a"], more: ["agent", "request_state"] };
    expect(await output("told", { word: "a" })).toEqual(first);
    expect(await output("told", { word: "b" })).toMatchObject({ words: ["a", "b"] });
    expect(schemaOf("told")).toMatchObject({ required: ["word"] });
    expect(Object.keys(schemaOf("told").properties)).toEqual(["word"]);
    expect(await output("named")).toBe("True");
  });

  test("fails in the words of the SDK, also where it asks a person", async () => {
    await bench.register(`
from strands import tool, ToolContext

@tool
def fails(how: str):
    if how == "value": raise ValueError("not that")
    if how == "said": return {"status": "error", "content": [{"text": "I give up"}]}
    raise LookupError("nowhere")

@tool(context=True)
def asks(tool_context: ToolContext):
    return tool_context.interrupt("approval", reason="why")
`);
    expect((await failure("fails", { how: "value" }))?.message).toBe("Error: not that");
    expect((await failure("fails", { how: "" }))?.message).toBe("Error: LookupError - nowhere");
    expect((await failure("fails", { how: "said" }))?.message).toBe("I give up");
    expect((await failure("asks"))?.message).toBe("the tool asks a person (approval), and nobody can be asked");
  });

  test("may be asynchronous; what a generator yields is progress, and its last value the result", async () => {
    await bench.register(`
import asyncio
from strands import tool

@tool
async def waits(n: int) -> int:
    await asyncio.sleep(0)
    return n + 1

@tool
async def streams(n: int):
    for step in range(n):
        yield f"step {step}"
        await asyncio.sleep(0.2)
    yield {"status": "success", "content": [{"json": {"steps": n}}]}
`);
    expect(await output("waits", { n: 1 })).toBe("2");
    const heard: (string | undefined)[] = [];
    const result = await bench.engine.execute(
      { name: "streams", arguments: { n: 2 } },
      { onProgress: ({ message }) => heard.push(message) },
    );
    expect([result.output, heard.slice(0, 2)]).toEqual([{ steps: 2 }, ["step 0", "step 1"]]);
  });

  test("calls other tools through its agent, as far as it is granted them", async () => {
    await bench.register("from strands import tool\n\n@tool\ndef double(n: int) -> int:\n    return n * 2\n");
    await bench.register(
      `
from strands import tool, ToolContext

@tool(context=True)
def asks_others(tool_context: ToolContext) -> dict:
    done = tool_context.agent.tool.double(n=4)
    failed = tool_context.agent.tool.double(n="x")
    return {"status": "success", "content": [{"json": [done["status"], done["content"], failed["status"]]}]}
`,
      { capabilities: { tools: ["double"] } },
    );
    expect(await output("asks_others")).toEqual(["success", [{ text: "8" }], "error"]);
  });

  test("can be called by the module as what it was", async () => {
    await bench.register(`
from strands import tool

@tool
def inner(a: int, b: int = 1) -> int:
    return a + b

@tool
def outer(a: int) -> int:
    return inner(a, b=2) + inner(a)
`);
    expect(await output("outer", { a: 1 })).toBe("5");
  });

  test("whose host refuses it something fails with the host's code", async () => {
    await bench.register(`
import requests
from strands import tool

@tool
def fetches():
    return requests.get("https://example.com/").text
`);
    expect(await failure("fetches")).toMatchObject({ code: "capability_denied" });
  });

  test.each([
    [
      "a ToolContext that nobody asked for",
      "from strands import ToolContext\n@tool\ndef one(tool_context: ToolContext): pass",
      "@tool(context) must be set",
    ],
    ["a name that is no text", "@tool(name=3)\ndef one(): pass", "Tool name must be a string"],
  ])("with %s is refused as the SDK does", async (_what, source, words) => {
    await expect(bench.register(`from strands import tool\n${source}\n`)).rejects.toThrow(words);
  });
});

describe("a module", () => {
  test("may have TOOL_SPEC and tools of the SDK side by side", async () => {
    const names = await bench.register(`
from strands import tool
from strands.types.tools import ToolResult, ToolUse

TOOL_SPEC = {"name": "by_spec", "description": "By its spec.", "inputSchema": {"json": {"type": "object"}}}

def by_spec(tool: ToolUse, **kwargs) -> ToolResult:
    return {"toolUseId": tool["toolUseId"], "status": "success", "content": [{"text": "spec"}]}

@tool
def by_decorator() -> str:
    """By its decorator."""
    return "decorator"
`);
    expect(names).toEqual(["by_decorator", "by_spec"]);
    expect([await output("by_spec"), await output("by_decorator")]).toEqual(["spec", "decorator"]);
  });

  test("may have a class whose methods are tools, of one object for all calls", async () => {
    await bench.register(
      `
from strands import tool

class Ledger:
    def __init__(self, config):
        self.sums = [config["start"]]

    @tool
    def book(self, amount: int) -> str:
        """Books an amount."""
        self.sums.append(amount)
        return str(sum(self.sums))

    @tool
    def total(self) -> int:
        return sum(self.sums)
`,
      { isolation: "shared", config: { start: 5 } },
    );
    expect(Object.keys(schemaOf("book").properties)).toEqual(["amount"]);
    expect([await output("book", { amount: 2 }), await output("book", { amount: 3 })]).toEqual(["7", "10"]);
    expect(await output("total")).toBe("5");
  });

  test("may have an object that is a tool by itself", async () => {
    await bench.register(`
from strands.types.tools import AgentTool

class Doubler(AgentTool):
    tool_name = "doubler"
    tool_type = "custom"
    tool_spec = {"name": "doubler", "description": "Doubles.", "inputSchema": {"json": {"type": "object"}}}

    async def stream(self, tool_use, invocation_state, **kwargs):
        yield "on the way"
        yield {"toolUseId": tool_use["toolUseId"], "status": "success", "content": [{"text": str(tool_use["input"]["n"] * 2)}]}

doubler = Doubler()
`);
    expect(await output("doubler", { n: 4 })).toBe("8");
  });

  test("may have classes that answer no question, which stand in nobody's way", async () => {
    const odd = `
class Odd(type):
    def __getattribute__(cls, name):
        raise RuntimeError("no answer")

class Silent(metaclass=Odd):
    pass

class Liar:
    @property
    def __class__(self):
        raise RuntimeError("no answer")

liar = Liar()
`;
    const decorated = `from strands import tool\n${odd}\n@tool\ndef beside_odd(): return "here"\n`;
    expect(await bench.register(decorated)).toEqual(["beside_odd"]);
    await bench.register(
      `spec = {"name": "plain_odd", "description": "Odd."}\n${odd}\ndef execute(given): return "there"\n`,
    );
    expect([await output("beside_odd"), await output("plain_odd")]).toEqual(["here", "there"]);
  });

  test("may name agents, models and graphs, and has none when it makes one", async () => {
    await bench.register(`
from strands import Agent, tool
from strands.models import Model
from strands.multiagent import Swarm
from strands.telemetry.metrics import metrics_to_string

@tool
def thinks() -> str:
    return str(Agent())
`);
    expect((await failure("thinks"))?.message).toMatch(
      /^Error: NotImplementedError - strands' Agent works with a model/,
    );
  });
});

test("blocks of all kinds are results, with their bytes as Base64", async () => {
  await bench.register(`
from strands import tool

@tool
def blocks() -> dict:
    source = {"bytes": b"\\x00\\x01"}
    return {"status": "success", "content": [
        {"text": "a"}, {"json": [1]},
        {"image": {"format": "png", "source": source}},
        {"document": {"format": "pdf", "name": "report", "source": source}},
        {"video": {"format": "mp4", "source": {"location": {"type": "s3", "uri": "s3://b/k"}}}},
    ]}
`);
  const bytes = { base64: "AAE=" };
  expect(await output("blocks")).toEqual([
    "a",
    [1],
    { image: { format: "png", source: { bytes } } },
    { document: { format: "pdf", name: "report", source: { bytes } } },
    { video: { format: "mp4", source: { location: { type: "s3", uri: "s3://b/k" } } } },
  ]);
  const { content } = await toolFunction(bench.engine, "blocks")({ toolUseId: "1", input: {} });
  expect(content[2]).toEqual({ image: { format: "png", source: { bytes: new Uint8Array([0, 1]) } } });
});

test("a registry knows each tool of a module, and by which path it is imported", async () => {
  await using own = await PythonBench.open();
  const decorated = (name: string) => `@tool\ndef ${name}() -> str:\n    """Says ${name}."""\n    return "${name}"\n\n`;
  writeFileSync(join(own.folder, "pair.py"), `from strands import tool\n\n${decorated("left")}${decorated("right")}`);
  writeFileSync(join(own.folder, "single.py"), `from strands import tool\n\n${decorated("single")}`);
  const registry = await ToolRegistry.discover({ engine: own.engine, tools: own.folder });
  expect([registry.warnings, registry.list_all().map(({ import_path }) => import_path)]).toEqual([
    [],
    ["strands_cli.tools.pair:left", "strands_cli.tools.pair:right", "strands_cli.tools.single"],
  ]);
  expect(registry.find("strands_cli.tools.pair:right")?.description).toBe("Says right.");
});
