import * as fc from "fast-check";
import { expect, test } from "vitest";
import { copyPlain, NOT_PLAIN, TOO_LARGE } from "../../../src/engine/call/plain-copy.ts";

const anything = fc.anything({ withNullPrototype: true, withSparseArray: true, withBigInt: true, withDate: true });

test("a copy of plain data is what JSON makes of it", () => {
  fc.assert(
    fc.property(anything, (value) => {
      const copy = copyPlain(value);
      if (copy !== NOT_PLAIN) expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
    }),
  );
});

test("JSON values are plain", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      expect(copyPlain(value)).not.toBe(NOT_PLAIN);
    }),
  );
});

test("the name __proto__ is one like any other", () => {
  const value: unknown = JSON.parse('{"a":{"__proto__":{"b":1}}}');
  expect(JSON.stringify(copyPlain(value))).toBe(JSON.stringify(value));
});

test("a value is too large only if its JSON is, however it is nested", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), fc.nat(200), (value, maxBytes) => {
      const isTooLarge = copyPlain(value, maxBytes) === TOO_LARGE;
      if (isTooLarge) expect(Buffer.byteLength(JSON.stringify(value))).toBeGreaterThan(maxBytes);
      else expect(copyPlain(value)).toEqual(value);
    }),
  );
});

const cycle: Record<string, unknown> = {};
cycle["self"] = cycle;

test.each([
  ["an object of a class", new (class {})()],
  ["toJSON", { toJSON: () => 1 }],
  ["a date", { at: new Date(0) }],
  ["NaN", { n: Number.NaN }],
  ["undefined in a list", [undefined]],
  ["a bigint", { n: 1n }],
  ["a cycle", cycle],
])("%s is not plain", (_what, value: unknown) => {
  expect(copyPlain(value)).toBe(NOT_PLAIN);
});

test("each property is read once", () => {
  let reads = 0;
  const value = Object.defineProperty({}, "n", { enumerable: true, get: () => ++reads });
  expect([copyPlain(value), reads]).toEqual([{ n: 1 }, 1]);
});
