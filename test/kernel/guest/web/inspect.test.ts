import { format as nodeFormat, inspect as nodeInspect } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { format, inspect } from "../../../../src/kernel/guest/web/inspect.ts";
import { inIsolate } from "./in-isolate.ts";

class Plain {
  a = 1;
}
class Derived extends Plain {}
class OwnError extends Error {}

const unbounded = { maxChars: 1e9 };

function withStack<E extends Error>(error: E): E {
  const stack = `${error.name}: ${error.message}\n    at one (file.js:1:1)\n    at two (file.js:2:2)`;
  return Object.defineProperty(error, "stack", { value: stack });
}

function empty(length: number): unknown[] {
  const array: unknown[] = [];
  array.length = length;
  return array;
}

function circular(): object {
  const object: Record<string, unknown> = {};
  object["self"] = object;
  object["inner"] = { object };
  return object;
}

const samples: Record<string, unknown> = {
  "strings with every kind of quote": ["it's", `a"b'c`, "a`b\"c'", "${'\"}", "\n\x00\x7f\ud800"],
  "numbers and other primitives": [1, -0, 5n, Symbol("q"), null, undefined, true, NaN],
  "classes and functions": [Plain, Derived, class {}, () => 1, async () => 1, function* g() {}, async function* h() {}],
  "instances, and objects deeper than two levels": {
    a: { b: { c: { d: 1 }, e: [1], f: new Map([[1, 2]]), g: new Derived() } },
  },
  "objects that contain themselves": [circular(), circular()],
  "maps and sets": [
    new Set([1, "a", { b: 1 }]),
    new Map<unknown, unknown>([
      ["a", { b: 1 }],
      [{}, []],
    ]),
    new Map(),
    new Set(),
  ],
  "arrays with holes and properties": [
    Object.assign(empty(3), { 0: 1, 2: 3 }),
    empty(2),
    Object.assign(empty(9), { 4: 1 }),
    Object.assign([1, 2], { x: 1, [Symbol("s")]: 2 }),
  ],
  "long arrays of numbers": Array.from({ length: 120 }, (_, index) => index),
  "long arrays of strings": Array.from({ length: 101 }, (_, index) => `item${index}`),
  "typed arrays and buffers": [
    new Uint8Array(5),
    new Float32Array([1.5, -0]),
    new BigInt64Array(2),
    new ArrayBuffer(3),
  ],
  "data views": new DataView(new ArrayBuffer(2), 1),
  "dates and regular expressions": [new Date(0), new Date(NaN), /a\/b/gi, Object.assign(/a/g, { x: 1 })],
  "boxed primitives": [
    Object(1),
    Object("abc"),
    Object(true),
    Object(1n),
    Object(Symbol("q")),
    Object.assign(Object("ab"), { z: 1 }),
  ],
  "objects without a prototype": [Object.create(null), Object.setPrototypeOf([1], null), Object.create({})],
  accessors: {
    get a() {
      return 1;
    },
    set b(value: unknown) {
      void value;
    },
    get c() {
      return 1;
    },
    set c(value: unknown) {
      void value;
    },
  },
  "keys that need quotes": { "a-b": 1, "1a": 2, a1: 3, [Symbol("s")]: 4, ["__proto__"]: 5 },
  "errors with a cause and properties": {
    plain: withStack(new Error("x")),
    coded: Object.assign(withStack(new Error("x")), { code: "E" }),
    caused: withStack(new Error("x", { cause: withStack(new TypeError("y")) })),
    own: withStack(new OwnError("mine")),
    many: withStack(new AggregateError([1], "agg")),
  },
  "strings of many lines": ["a\nb".repeat(50), ["a\nbcdefghijklmnopqrstuvwxyz".repeat(5)]],
  "strings that are too long": "x".repeat(10_050),
  "namespaces and iterators": [Math, JSON, [].values(), new WeakMap(), new WeakSet()],
};

test.for(Object.keys(samples))("it prints %s as Node does", (name) => {
  expect(inspect(samples[name], unbounded)).toBe(nodeInspect(samples[name]));
});

test("it prints whatever values as Node does", () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withBoxedValues: true,
    withSparseArray: true,
    withTypedArray: true,
    withNullPrototype: true,
    maxDepth: 4,
  });
  fc.assert(
    fc.property(anything, (value) => {
      expect(inspect(value, unbounded)).toBe(nodeInspect(value));
    }),
    { numRuns: 300 },
  );
});

const formats: readonly (readonly unknown[])[] = [
  ["%s %s %s %s", -0, 5n, { a: { b: 1 } }, Symbol("q")],
  ["%d %d %d", "42", 5n, {}],
  ["%i %i", "42.5", "x"],
  ["%f %f", "1.5", Symbol("a")],
  ["%j %j", { a: 1 }, circular()],
  ["%O", { b: { c: { d: {} } } }],
  ["%c%s", "color: red", "text"],
  ["%% %x", 1],
  ["%%"],
  ["%s"],
  ["a", "b", { a: 1 }],
  ["%s", "x", ["y"], "z"],
  ["%s", new Date(0)],
  ["%s", { toString: () => "own text" }],
  ["%s", Object.create(null)],
  ["%s", () => 1],
  [1, "a", { a: 1 }],
  [],
];

test.for(formats.map((args, index) => ({ args, index })))("format number $index is as Node's", ({ args }) => {
  expect(format(...args)).toBe(nodeFormat(...args));
});

test("promises show nothing of their state", () => {
  expect(inspect(Promise.resolve(1))).toBe("Promise {}");
});

test("getters are never called", () => {
  const calls: string[] = [];
  class Spy {
    static get name(): string {
      calls.push("name");
      return "x";
    }
    get [Symbol.toStringTag](): string {
      calls.push("tag");
      return "x";
    }
  }
  const error = Object.defineProperty(new Error("e"), "stack", { get: () => calls.push("stack") });
  const own = Object.defineProperty({}, "constructor", { get: () => calls.push("constructor"), enumerable: true });
  inspect([new Spy(), error, own, Spy]);
  expect(calls).toEqual([]);
});

test("a proxy that throws prints as an object that cannot be inspected", () => {
  const refuse = () => {
    throw new Error("no");
  };
  const proxy = new Proxy(
    {},
    { getPrototypeOf: refuse, ownKeys: refuse, getOwnPropertyDescriptor: refuse, get: refuse },
  );
  expect(inspect({ proxy, after: 1 })).toBe("{ proxy: [object that cannot be inspected], after: 1 }");
  expect(format("%s %d %j", proxy, proxy, proxy)).toBe("[object that cannot be inspected] NaN [Circular]");
});

test("a revoked proxy prints as an object that cannot be inspected", () => {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  expect(inspect([proxy])).toBe("[ [object that cannot be inspected] ]");
});

test("objects that only inherit from built-in classes are printed as plain ones", () => {
  for (const Class of [Map, Set, Date, RegExp, ArrayBuffer, Promise, Error, Number]) {
    expect(inspect(Object.create(Class.prototype))).toContain("{}");
  }
});

test("the output is cut at the wanted length", () => {
  const text = inspect(
    Array.from({ length: 100 }, () => "x".repeat(1_000)),
    { maxChars: 5_000 },
  );
  expect(text).toHaveLength(5_000);
  expect(text.endsWith("... (cut)")).toBe(true);
  expect(format("x".repeat(100_000))).toHaveLength(16_384);
  expect(format("%s%s", "x".repeat(100_000), "y".repeat(100_000)).length).toBeLessThanOrEqual(16_384);
});

test("the work stays small for values of any size", () => {
  const tree = (levels: number): object =>
    Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`k${i}`, levels > 0 ? tree(levels - 1) : i]));
  const values = [
    tree(3),
    new Uint8Array(2 ** 24),
    empty(2 ** 31),
    Array.from(new Uint8Array(2 ** 20)),
    new Set(Array(10 ** 5).keys()),
  ];
  const start = performance.now();
  for (const value of values) inspect(value, { depth: 100, maxArrayLength: 1e6 });
  // Work without a bound takes minutes.
  expect(performance.now() - start).toBeLessThan(30_000);
});

test("in a frozen isolate errors show their stack and class", async () => {
  const text = await inIsolate(
    `class Mine extends Error {}
    console.log({ mine: new Mine("boo"), dom: new DOMException("gone", "AbortError") });
    return messages[0][1];`,
    { frozen: true },
  );
  expect(text).toMatch(/^\{\n {2}mine: Mine(?: \[Error\])?: boo\n {6}at /);
  expect(text).toMatch(/\n {2}dom: DOMException \[AbortError\]: gone\n {6}at /);
});
