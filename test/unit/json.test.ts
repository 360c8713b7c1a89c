import fc from "fast-check";
import { expect, test } from "vitest";
import { isNestedTooDeeply, NESTING_MAX } from "../../src/json.ts";

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

test("a text nested to the limit passes, and one level more does not", () => {
  expect([isNestedTooDeeply(nested(NESTING_MAX)), isNestedTooDeeply(nested(NESTING_MAX + 1))]).toEqual([false, true]);
});

test("brackets within strings do not count, however the strings are escaped", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("[", '"', "\\", "a") }), (piece) => {
      const text = JSON.stringify([piece, "[".repeat(3 * NESTING_MAX), { [piece]: piece }]);
      expect(isNestedTooDeeply(text)).toBe(false);
    }),
  );
});

test("a deep value is found behind any strings", () => {
  fc.assert(
    fc.property(fc.string(), (piece) => {
      expect(isNestedTooDeeply(`[${JSON.stringify(piece)},${nested(NESTING_MAX)}]`)).toBe(true);
    }),
  );
});
