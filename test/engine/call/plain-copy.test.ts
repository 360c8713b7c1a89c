import * as fc from "fast-check";
import { expect, test } from "vitest";
import { copyPlain, NOT_PLAIN } from "../../../src/engine/call/plain-copy.ts";

const anything = fc.anything({ withNullPrototype: true, withSparseArray: true, withBigInt: true, withDate: true });

test("a copy of plain data is what JSON makes of it", () => {
  fc.assert(
    fc.property(anything, (value) => {
      const copy = copyPlain(value);
      if (copy !== NOT_PLAIN) expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
    }),
  );
});

test("JSON values are plain, unless one has the name __proto__", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      fc.pre(!JSON.stringify(value).includes("__proto__"));
      expect(copyPlain(value)).not.toBe(NOT_PLAIN);
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
  ["the name __proto__", JSON.parse('{"__proto__":1}') as unknown],
  ["a cycle", cycle],
])("%s is not plain", (_what, value: unknown) => {
  expect(copyPlain(value)).toBe(NOT_PLAIN);
});

test("each property is read once", () => {
  let reads = 0;
  const value = Object.defineProperty({}, "n", { enumerable: true, get: () => ++reads });
  expect([copyPlain(value), reads]).toEqual([{ n: 1 }, 1]);
});
