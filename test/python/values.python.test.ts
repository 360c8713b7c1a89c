import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEAR, given, unchanged } from "../long-integers.ts";
import { PYTHON_MS, PythonBench } from "./bench.ts";

let bench: PythonBench;
let gives = "";
let echo = "";

beforeAll(async () => {
  bench = await PythonBench.open();
  gives = await bench.tool(
    "def execute(input):\n    space = {}\n    exec(input['code'], space)\n    return space['value']\n",
  );
  echo = await bench.tool("def execute(input): return [type(input['value']).__name__, input['value']]");
}, PYTHON_MS);

afterAll(() => bench[Symbol.asyncDispose]());

const give = (code: string) => bench.run(gives, { code });

describe("what a tool returns", () => {
  test.each<[string, string, unknown]>([
    ["a text of any characters", `value = "ü😀\\u2028\\x00\\ud800"`, "ü😀\u2028\x00\ud800"],
    ["numbers", "value = [0, -1, 1.5, 1e300, 2**53, True, None]", [0, -1, 1.5, 1e300, "9007199254740992", true, null]],
    ["tuples and sets as lists", "value = [(1, 2), {3}, frozenset([4])]", [[1, 2], [3], [4]]],
    [
      "keys that are no texts as texts",
      "value = {1: 'a', None: 'b', True: 'c', 1.5: 'd'}",
      { 1: "c", null: "b", 1.5: "d" },
    ],
    ["bytes as Base64", "value = [b'\\x00\\xff', bytearray(b'a')]", [{ base64: "AP8=" }, { base64: "YQ==" }]],
    [
      "dataclasses by their fields",
      "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    inner: object = None\nvalue = P(1, P(2))",
      { x: 1, inner: { x: 2, inner: null } },
    ],
    [
      "models by what they say of themselves",
      "class M:\n    def model_dump(self): return {'a': 1}\nvalue = [M()]",
      [{ a: 1 }],
    ],
    [
      "named tuples as lists, subclasses of what JSON has as that",
      "from collections import namedtuple, OrderedDict\nfrom enum import IntEnum\nvalue = [namedtuple('P', 'x y')(1, 2), OrderedDict(a=1), IntEnum('E', 'one').one]",
      [[1, 2], { a: 1 }, 1],
    ],
    [
      "times, numbers of decimals and paths as texts",
      "import datetime as d, decimal, uuid, pathlib\nvalue = [d.datetime(2026, 1, 2, 3, 4, 5), d.date(2026, 1, 2), d.time(3, 4), d.timedelta(days=1, hours=2, seconds=1.5), d.timedelta(), -d.timedelta(minutes=3), decimal.Decimal('1.10'), uuid.UUID(int=1), pathlib.Path('/a/b')]",
      [
        "2026-01-02T03:04:05",
        "2026-01-02",
        "03:04:00",
        "P1DT2H1.5S",
        "PT0S",
        "-PT3M",
        "1.10",
        "00000000-0000-0000-0000-000000000001",
        "/a/b",
      ],
    ],
    [
      "members of an enum by their values, exceptions by their names and messages",
      "from enum import Enum\nclass Color(Enum):\n    RED = 'red'\nvalue = [Color.RED, ValueError('no')]",
      ["red", { name: "ValueError", message: "no" }],
    ],
    ["whole numbers of any length", "value = [2 ** 64, -(10 ** 60)]", [`${2n ** 64n}`, `-${10n ** 60n}`]],
    [
      "whole floats as numbers, beside integers",
      "value = [1e16, -float(2**53), {'f': float(2**63)}, 1e20, 1e21, 5.0, 2**64, '1e+16']",
      [1e16, -(2 ** 53), { f: 2 ** 63 }, 1e20, 1e21, 5, `${2n ** 64n}`, "1e+16"],
    ],
    ["a whole float alone", "value = 1e17", 1e17],
    ["nothing", "value = None", null],
  ])("may be %s", async (_what, code, expected) => {
    const { output, error } = await give(code);
    expect([output, error]).toEqual([expected, null]);
  });

  test.each([
    ["not a number", "value = {'mean': float('nan')}", "/mean is nan, which JSON does not have"],
    ["endless", "value = [float('-inf')]", "/0 is -inf"],
    ["a whole number of more than 4,096 digits", "value = [10 ** 4200]", "/0 is an integer of more than 4096 digits"],
    ["in itself", "value = []; value.append(value)", "/0 is in itself"],
    ["a generator", "value = (n for n in [])", "it is an iterator: return list(values)"],
    [
      "an asynchronous generator",
      "async def many():\n    yield 1\nvalue = [many()]",
      "/0 is an asynchronous generator",
    ],
    ["a class", "value = int", "it is a class"],
    ["a module", "import json; value = {'json': json}", "/json is a module"],
    ["a function", "value = [len]", "/0 is a function: call it"],
    ["complex", "value = 1j", "it is a complex number"],
    ["an object of a class", "class Thing: pass\nvalue = [{'a': Thing()}]", "/0/a is an object of the type Thing"],
    ["under a key that is no text", "value = {'a': {(1, 2): 3}}", "/a has a key that is a tuple"],
    [
      "a thing that fails when it is asked",
      "class M:\n    def model_dump(self): raise SystemExit\nvalue = M()",
      "exit",
    ],
  ])("is invalid_output where it is %s", async (_what, code, words) => {
    const { error } = await give(code);
    expect([error?.code, error?.message]).toEqual(["invalid_output", expect.stringContaining(words)]);
  });

  test("is told as an integer that is too long where Python itself writes no such one", async () => {
    const { error } = await give("value = {'a/b': 10 ** 5000}");
    expect(error?.message).toBe(
      "the tool returned a value that JSON cannot hold: /a~1b is an integer of more than 4096 digits: return it as a text",
    );
  });

  test.each([
    ["deeper than the stack", "value = []\nfor _ in range(100_000): value = [value]"],
    ["made anew whenever it is asked", "class M:\n    def __getattr__(self, name): return lambda: M()\nvalue = M()"],
  ])("ends the call and no other one where it is %s", async (_what, code) => {
    expect((await give(code)).error?.code).toMatch(/^(?:invalid_output|tool_error)$/);
    expect((await give("value = 1")).output).toBe(1);
  });

  test("may be a coroutine, which is waited for; one that is inside of something is no value", async () => {
    expect((await give("async def later(): return [1]\nvalue = later()")).output).toEqual([1]);
    expect((await give("async def later(): return [1]\nvalue = [later()]")).error?.code).toBe("invalid_output");
  });

  test("is output_too_large where it is more than its limit", async () => {
    const name = await bench.tool("def execute(input): return 'x' * input['n']", { limits: { outputBytes: 1_000 } });
    expect((await bench.run(name, { n: 900 })).success).toBe(true);
    expect((await bench.run(name, { n: 5_000_000 })).error?.code).toBe("output_too_large");
  });
});

describe("what a tool is given", () => {
  test.each<[unknown, string]>([
    ["ü😀\u2028\x00", "str"],
    ["", "str"],
    [0.5, "float"],
    [null, "NoneType"],
    [false, "bool"],
    [[], "list"],
    [{ "": { a: [] } }, "dict"],
  ])("is what its caller gave: %j", async (value, type) => {
    expect((await bench.run(echo, { value })).output).toEqual([type, value]);
  });

  test("is deep or large, and fails as a call where it is too deep", async () => {
    const nested = (depth: number) => JSON.parse("[".repeat(depth) + "]".repeat(depth)) as unknown;
    expect((await bench.run(echo, { value: nested(200) })).success).toBe(true);
    const large = "x".repeat(500_000);
    expect((await bench.run(echo, { value: large })).output).toEqual(["str", large]);
    const deep = await bench.run(echo, { value: nested(50_000) });
    expect(deep.success ? "success" : deep.error?.code).toMatch(
      /^(?:success|invalid_output|tool_error|memory_limit|invalid_arguments)$/,
    );
    expect((await bench.run(echo, { value: 1 })).output).toEqual(["int", 1]);
  });

  test("is a whole number of any length, which it gives back", async () => {
    const name = await bench.tool(
      "def execute(input): return [[str(n + 1), n, type(n).__name__] for n in input['ids']]",
    );
    await unchanged(async (ids) => {
      const { output } = await bench.run(name, { ids });
      expect(output).toEqual(ids.map((id) => [`${id + 1n}`, given(id), "int"]));
    }, DEAR)();
  });
});

test("arguments and outputs are checked by the tool's schemas, one bad call beside others", async () => {
  const tool = await bench.tool("def execute(input): return input['n']\n", {
    inputSchema: { type: "object", properties: { n: { type: "integer", default: 3 } } },
    outputSchema: { type: "integer", maximum: 10 },
  });
  const results = await Promise.all([{}, { n: "a" }, { n: 11 }, { n: 5 }].map((args) => bench.run(tool, args)));
  const ends = results.map(({ success, output, error }) => (success ? output : error?.code));
  expect(ends).toEqual([3, "invalid_arguments", "invalid_output", 5]);
});
