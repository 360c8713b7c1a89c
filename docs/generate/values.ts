import { code, page, table } from "./markdown.ts";

/** A kind of value: expressions that make one, in each language that has it, and what becomes of them. */
export interface ValueRow {
  readonly what: string;
  readonly javascript?: string;
  readonly python?: string;
  /** JSON text. */
  readonly becomes?: string;
  /** Words of the error, after the place of the value. */
  readonly refused?: { readonly javascript?: string; readonly python?: string };
}

const [MANY, MANY_LATER] = ["(function* () { yield 1; })()", "(async function* () { yield 1; })()"];

/** The rows of the page. A test runs each of them, as a tool's output and within one. */
export const VALUES: readonly ValueRow[] = [
  {
    what: "an integer of up to 4,096 digits",
    javascript: "2n ** 64n",
    python: "2 ** 64",
    becomes: "18446744073709551616",
  },
  { what: "nothing", javascript: "null", python: "None", becomes: "null" },
  { what: "a map with texts as keys", javascript: 'new Map([["a", 1]])', python: '{"a": 1}', becomes: '{"a":1}' },
  { what: "a set", javascript: "new Set([1, 2])", python: "{1, 2}", becomes: "[1,2]" },
  {
    what: "bytes, also in a `Buffer`",
    javascript: "new Uint8Array([0, 255])",
    python: 'b"\\x00\\xff"',
    becomes: '{"base64":"AP8="}',
  },
  {
    what: "a buffer",
    javascript: "new Uint8Array([97]).buffer",
    python: 'bytearray(b"a")',
    becomes: '{"base64":"YQ=="}',
  },
  { what: "a typed array of numbers", javascript: "new Float32Array([0.5, 2])", becomes: "[0.5,2]" },
  {
    what: "an error",
    javascript: 'new RangeError("too far")',
    python: 'RuntimeError("too far")',
    becomes: '{"name":"RangeError","message":"too far"}',
  },
  { what: "a date", javascript: "new Date(0)", becomes: '"1970-01-01T00:00:00.000Z"' },
  { what: "a date", python: "datetime.date(2026, 1, 2)", becomes: '"2026-01-02"' },
  { what: "a date with its time", python: "datetime.datetime(2026, 1, 2, 3, 4)", becomes: '"2026-01-02T03:04:00"' },
  { what: "a time", python: "datetime.time(3, 4)", becomes: '"03:04:00"' },
  { what: "a duration", python: "datetime.timedelta(days=1, hours=2)", becomes: '"P1DT2H"' },
  { what: "a number of decimals", python: 'decimal.Decimal("1.10")', becomes: '"1.10"' },
  { what: "a UUID", python: "uuid.UUID(int=1)", becomes: '"00000000-0000-0000-0000-000000000001"' },
  { what: "a path", python: 'pathlib.Path("/a/b")', becomes: '"/a/b"' },
  { what: "a member of an enum", python: 'enum.Enum("Color", {"RED": "red"}).RED', becomes: '"red"' },
  { what: "a tuple, also one with names", python: 'collections.namedtuple("P", "x y")(1, 2)', becomes: "[1,2]" },
  {
    what: "an object of a dataclass",
    python: 'dataclasses.make_dataclass("P", ["x"])(1)',
    becomes: '{"x":1}',
  },
  {
    what: "an object with `model_dump`",
    python: 'type("M", (), {"model_dump": lambda self: {"a": 1}})()',
    becomes: '{"a":1}',
  },
  { what: "an object of a class", javascript: "new (class { a = 1; #hidden = 2; })()", becomes: '{"a":1}' },
  { what: "a URL", javascript: 'new URL("https://a.example/b")', becomes: '"https://a.example/b"' },
  { what: "the parameters of a URL", javascript: 'new URLSearchParams("a=1&b=2")', becomes: '"a=1&b=2"' },
  { what: "headers", javascript: 'new Headers({ accept: "text/plain" })', becomes: '{"accept":"text/plain"}' },
  {
    what: "members that are `undefined` or functions",
    javascript: "({ a: undefined, b() {}, c: 1 })",
    becomes: '{"c":1}',
  },
  {
    what: "a number that JSON does not have",
    javascript: "0 / 0",
    python: 'float("nan")',
    refused: {
      javascript: "is NaN, which JSON does not have: return a number, a text or null",
      python: "is nan, which JSON does not have: return a number, a text or None",
    },
  },
  {
    what: "an endless number",
    javascript: "1 / 0",
    python: 'float("inf")',
    refused: { javascript: "is Infinity, which JSON does not have", python: "is inf, which JSON does not have" },
  },
  { what: "an invalid date", javascript: 'new Date("no")', refused: { javascript: "is an invalid date" } },
  {
    what: "a map with other keys",
    javascript: "new Map([[1, 2]])",
    python: "{(1, 2): 3}",
    refused: { javascript: "is a Map with keys that are no texts", python: "has a key that is a tuple" },
  },
  {
    what: "a generator",
    javascript: MANY,
    python: "(one for one in [1])",
    refused: { javascript: "is a generator: return [...values]", python: "is an iterator: return list(values)" },
  },
  {
    what: "an asynchronous generator",
    javascript: MANY_LATER,
    python: "(one async for one in many())",
    refused: { javascript: "is an asynchronous generator", python: "is an asynchronous generator" },
  },
  {
    what: "an iterator",
    javascript: "[1].values()",
    python: "map(str, [1])",
    refused: { javascript: "is an iterator", python: "is an iterator" },
  },
  {
    what: "a response",
    javascript: 'new Response("a")',
    refused: { javascript: "is a Response: return await response.json()" },
  },
  { what: "a request", javascript: 'new Request("https://a.example/")', refused: { javascript: "is a Request" } },
  { what: "a blob", javascript: 'new Blob(["a"])', refused: { javascript: "is a Blob: return await blob.bytes()" } },
  { what: "a form", javascript: "new FormData()", refused: { javascript: "is a FormData" } },
  { what: "a stream", javascript: "new ReadableStream()", refused: { javascript: "is a stream" } },
  { what: "a regular expression", javascript: "/a/", refused: { javascript: "is a regular expression" } },
  { what: "a class, a module", python: "int", refused: { python: "is a class" } },
  { what: "a complex number", python: "1j", refused: { python: "is a complex number" } },
  { what: "another object of a class", python: "object()", refused: { python: "is an object of the type object" } },
];

/** Rows that hold only within a value. */
export const VALUES_WITHIN: readonly ValueRow[] = [
  {
    what: "a promise, a coroutine",
    javascript: "Promise.resolve(1)",
    python: "later()",
    refused: { javascript: "is a promise: await it", python: "is a coroutine: await it" },
  },
  {
    what: "a function in a list",
    javascript: "() => 1",
    python: "len",
    refused: { javascript: "is a function, which is no value of JSON", python: "is a function: call it" },
  },
  { what: "a symbol in a list", javascript: 'Symbol("a")', refused: { javascript: "is a symbol" } },
];

export function valuesPage(): string {
  const rows = [...VALUES, ...VALUES_WITHIN].map(({ what, javascript, python, becomes, refused }) => [
    what,
    javascript === undefined ? "" : code(javascript),
    python === undefined ? "" : code(python),
    becomes === undefined
      ? [...new Set(Object.values(refused ?? {}))].map((words) => `\`invalid_output\`: it ${words}`).join("<br>")
      : code(becomes),
  ]);
  return page("Values", [
    "What becomes of a value that a tool returns, passes to a capability, or that a program returns. An error names the JSON pointer of the value, says what it is, and what to return instead.",
    "An integer beyond 2^53 − 1 keeps its digits wherever JSON is written. Inside an isolate it is a `bigint`, in Python an `int`, and for the embedder (`result.output`, events, handlers of capabilities) a string of its digits. As an argument a `bigint`, a number and, where the schema says `integer` or `number`, a string of the digits are all taken. A JavaScript number from 2^53 to below 1e21 is written with its digits, and so is such an integer; a `float` of Python stays a number. In a listed schema, the values of `enum`, `const`, `default` and `examples` keep their digits too: such an integer is an object that `JSON.stringify` writes as digits, and that `structuredClone` does not copy. The bounds, such as `maximum`, are the nearest numbers, which other validators take; calls are checked against the exact ones.",
    "Promises in the result of a program are awaited, all at once.",
    "Of arguments, and of a tool's `config`, everything that is no JSON is refused in the same way, as `invalid_arguments` or `load_error`: a `Map`, a `Set`, bytes, an error, a promise, a regular expression, a function in a list. What has a `toJSON` is what that says; members that are `undefined` or functions are left out.",
    table(["value", "JavaScript", "Python", "becomes"], rows),
  ]);
}
