import fc from "fast-check";
import { expect, test } from "vitest";
import { CloneRules, createStructuredClone } from "../../../../src/kernel/guest/web/structured-clone.ts";
import { inIsolate } from "./in-isolate.ts";
import { inTool } from "./in-tool.ts";

class Refused {}
const rules = new CloneRules();
rules.refuse(Refused);
const clone = createStructuredClone(rules, (buffer) => void buffer.transfer(0));

function empty(length: number): unknown[] {
  const array: unknown[] = [];
  array.length = length;
  return array;
}

function nameOf(call: () => unknown): string {
  try {
    call();
    return "";
  } catch (error) {
    return (error as Error).name;
  }
}

test("it clones whatever values like Node", () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withBoxedValues: true,
    withSparseArray: true,
    withTypedArray: true,
    withNullPrototype: true,
  });
  fc.assert(
    fc.property(anything, (value) => {
      const copy = clone(value);
      expect(copy).toStrictEqual(structuredClone(value));
      if (typeof value === "object" && value !== null) expect(copy).not.toBe(value);
    }),
    { numRuns: 1_000 },
  );
});

test("references stay shared and cycles stay cycles", () => {
  const shared = { a: 1 };
  const value: Record<string, unknown> = { one: shared, two: shared, map: new Map(), set: new Set() };
  value["self"] = value;
  (value["map"] as Map<unknown, unknown>).set(value, shared);
  (value["set"] as Set<unknown>).add(value);
  const copy = clone(value);
  expect(copy["one"]).toBe(copy["two"]);
  expect(copy["one"]).not.toBe(shared);
  expect(copy["self"]).toBe(copy);
  expect((copy["map"] as Map<unknown, unknown>).get(copy)).toBe(copy["one"]);
  expect((copy["set"] as Set<unknown>).has(copy)).toBe(true);
});

test("arrays keep their holes, length and other properties", () => {
  const copy = clone(Object.assign(empty(3), { 0: 1, 2: 3, extra: 4 }));
  expect([copy.length, 1 in copy, copy.extra]).toEqual([3, false, 4]);
  expect(clone(empty(2 ** 32 - 1)).length).toBe(2 ** 32 - 1);
});

test("views that share a buffer share its copy", () => {
  const buffer = new ArrayBuffer(16);
  const copy = clone({
    buffer,
    bytes: new Uint8Array(buffer, 4, 8),
    view: new DataView(buffer, 2, 3),
    big: new BigInt64Array(buffer, 8),
  });
  expect(copy.bytes.buffer).toBe(copy.buffer);
  expect(copy.view.buffer).toBe(copy.buffer);
  expect(copy.buffer).not.toBe(buffer);
  expect([
    copy.bytes.byteOffset,
    copy.bytes.length,
    copy.view.byteOffset,
    copy.view.byteLength,
    copy.big.length,
  ]).toEqual([4, 8, 2, 3, 1]);
});

test("regular expressions begin anew, and dates may be invalid", () => {
  const pattern = /a/giv;
  pattern.lastIndex = 5;
  const copy = clone([pattern, new Date(NaN), new Date(7)] as const);
  expect([copy[0].source, copy[0].flags, copy[0].lastIndex]).toEqual(["a", "giv", 0]);
  expect([copy[1].getTime(), copy[2].getTime()]).toEqual([NaN, 7]);
});

test("errors keep their kind, message, stack and cause", () => {
  class Own extends RangeError {
    override name = "Own";
    extra = 1;
  }
  const errors = [new TypeError("t", { cause: { deep: 1 } }), new Own("o"), new Error(), new AggregateError([], "a")];
  const copies = clone(errors);
  const nodes = structuredClone(errors);
  for (const [index, copy] of copies.entries()) {
    const node = nodes[index];
    expect(Object.getPrototypeOf(copy)).toBe(Object.getPrototypeOf(node));
    expect(Object.getOwnPropertyNames(copy).toSorted()).toEqual(Object.getOwnPropertyNames(node).toSorted());
    expect([copy.name, copy.message, copy.stack, copy.cause]).toEqual([
      node?.name,
      node?.message,
      node?.stack,
      node?.cause,
    ]);
  }
});

test("instances of classes become plain objects with what was their own", () => {
  class Point {
    x = 1;
    #hidden = 2;
    get sum(): number {
      return this.#hidden;
    }
  }
  const copy = clone(new Point());
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  expect(copy).toEqual({ x: 1 });
});

test("properties named as inherited ones become own properties", () => {
  const copy = clone(JSON.parse('{"__proto__":{"a":1},"toString":2,"constructor":3}'));
  expect(Object.keys(copy)).toEqual(["__proto__", "toString", "constructor"]);
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
});

test("getters are read, and may delete what comes after them", () => {
  const value = {
    get a(): number {
      delete (this as { b?: number }).b;
      return 1;
    },
    b: 2,
  };
  expect(clone(value)).toEqual({ a: 1 });
});

test("what no copy could be faithful to is a DataCloneError", () => {
  const values = [
    () => 1,
    class {},
    Symbol("s"),
    Object(Symbol("s")),
    new WeakMap(),
    new WeakSet(),
    Promise.resolve(),
    new WeakRef({}),
    [].values(),
    (function* () {})(),
    new Refused(),
    new SharedArrayBuffer(1),
    { deep: [() => 1] },
  ];
  for (const value of values) expect(nameOf(() => clone(value))).toBe("DataCloneError");
});

test("objects that only inherit from built-in classes are plain ones", () => {
  for (const Class of [Map, Set, Date, RegExp, ArrayBuffer, Number, Uint8Array, Error]) {
    expect(clone(Object.assign(Object.create(Class.prototype), { own: 1 }))).toEqual({ own: 1 });
  }
});

test("buffers that are transferred are copied and detached", () => {
  const { buffer } = Uint8Array.of(1, 2, 3);
  const other = new ArrayBuffer(1);
  const copy = clone({ buffer, view: new Uint8Array(buffer, 1) }, { transfer: [buffer, other] });
  expect([buffer.detached, other.detached, [...copy.view], copy.view.buffer === copy.buffer]).toEqual([
    true,
    true,
    [2, 3],
    true,
  ]);
});

test("nothing is detached where the value cannot be cloned", () => {
  const buffer = new ArrayBuffer(1);
  expect(nameOf(() => clone(() => 1, { transfer: [buffer] }))).toBe("DataCloneError");
  expect(buffer.detached).toBe(false);
});

test("only attached buffers can be transferred, each once", () => {
  const buffer = new ArrayBuffer(1);
  const gone = new ArrayBuffer(1);
  gone.transfer();
  for (const transfer of [[buffer, buffer], [gone], [{}], [new Uint8Array(1)]]) {
    expect(nameOf(() => clone(1, { transfer }))).toBe("DataCloneError");
  }
  expect(nameOf(() => clone(gone))).toBe("DataCloneError");
  expect(nameOf(() => clone(new Uint8Array(gone.byteLength).fill(1)))).toBe("");
});

test("DOMExceptions keep their name, in a frozen isolate where web objects are refused", async () => {
  const result = await inIsolate(
    `const copy = structuredClone(new DOMException("m", "AbortError"));
    const refused = [new URL("a:b"), new Event("e"), new AbortController().signal, crypto, new TextEncoder()];
    const names = refused.map((value) => { try { structuredClone(value) } catch (error) { return error.name } });
    return [copy instanceof DOMException, copy.name, copy.message, names];`,
    { frozen: true },
  );
  expect(result).toEqual([true, "AbortError", "m", Array(5).fill("DataCloneError")]);
});

test("a tool transfers buffers, by structuredClone and by their own method", async () => {
  const result = await inTool(`
    const buffer = Uint8Array.of(1, 2).buffer;
    const copy = structuredClone({ buffer }, { transfer: [buffer] });
    const moved = copy.buffer.transfer();
    return [buffer.detached, [...new Uint8Array(moved)], copy.buffer.detached];`);
  expect(result).toEqual([true, [1, 2], true]);
});
