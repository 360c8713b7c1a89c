import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
    ["numbers", "value = [0, -1, 1.5, 1e300, 2**53, True, None]", [0, -1, 1.5, 1e300, 2 ** 53, true, null]],
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
    ["nothing", "value = None", null],
  ])("may be %s", async (_what, code, expected) => {
    const { output, error } = await give(code);
    expect([output, error]).toEqual([expected, null]);
  });

  test.each([
    ["not a number", "value = float('nan')", "Out of range float"],
    ["endless", "value = [float('-inf')]", "Out of range float"],
    ["a whole number beyond all numbers of JavaScript", "value = 10 ** 400", "401 digits"],
    ["a whole number of more digits than Python writes", "value = 10 ** 5000", "digits"],
    ["in itself", "value = []; value.append(value)", "Circular reference"],
    ["a generator", "value = (n for n in [])", "type generator"],
    ["a class", "value = int", "type type"],
    ["a module", "import json; value = {'json': json}", "type module"],
    ["complex", "value = 1j", "type complex"],
    ["under a key that is no text", "value = {(1, 2): 3}", "keys must be str"],
    [
      "a thing that fails when it is asked",
      "class M:\n    def model_dump(self): raise SystemExit\nvalue = M()",
      "exit",
    ],
  ])("is invalid_output where it is %s", async (_what, code, words) => {
    const { error } = await give(code);
    expect([error?.code, error?.message]).toEqual(["invalid_output", expect.stringContaining(words)]);
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
    [2 ** 53, "int"],
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
    expect(deep.success ? "success" : deep.error?.code).toMatch(/^(?:success|invalid_output|tool_error|memory_limit)$/);
    expect((await bench.run(echo, { value: 1 })).output).toEqual(["int", 1]);
  });

  test("loses what a number of JavaScript cannot hold: it is text only once, between Python and its caller", async () => {
    const name = await bench.tool("def execute(input): return [input['n'] == 2**53, str(2**53 + 1), 2**53 + 1]");
    expect((await bench.run(name, { n: 2 ** 53 + 1 })).output).toEqual([true, "9007199254740993", 2 ** 53]);
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
