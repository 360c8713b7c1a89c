import fc from "fast-check";
import { expect, test } from "vitest";
import { describeExcess, NESTING_MAX, VALUES_MAX } from "../../src/base/json.ts";

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

test("a text nested to the limit passes, and one level more does not", () => {
  expect(describeExcess(nested(NESTING_MAX))).toBe(null);
  expect(describeExcess(nested(NESTING_MAX + 1))).toContain("nested deeper");
});

test("lists and objects count together", () => {
  const pairs = NESTING_MAX / 2;
  expect(describeExcess(`${'[{"a":'.repeat(pairs)}0${"}]".repeat(pairs)}`)).toBe(null);
  expect(describeExcess(`[${'[{"a":'.repeat(pairs)}0${"}]".repeat(pairs)}]`)).toContain("nested deeper");
});

test("brackets within strings do not count, however the strings are escaped", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("[", '"', "\\", "a") }), (piece) => {
      const text = JSON.stringify([piece, "[".repeat(3 * NESTING_MAX), { [piece]: piece }]);
      expect(describeExcess(text)).toBe(null);
    }),
  );
});

test("a deep value is found behind any strings", () => {
  fc.assert(
    fc.property(fc.string(), (piece) => {
      expect(describeExcess(`[${JSON.stringify(piece)},${nested(NESTING_MAX)}]`)).toContain("nested deeper");
    }),
  );
});

test("a text of as many values as may be passes, and one of more does not, however short it is", () => {
  // The list is a value as well, and so is each of its items.
  expect(describeExcess(`[${"0,".repeat(VALUES_MAX - 2)}0]`)).toBe(null);
  expect(describeExcess(`[${"0,".repeat(VALUES_MAX - 1)}0]`)).toContain("more than");
  expect(describeExcess(`["${",".repeat(VALUES_MAX)}"]`)).toBe(null);
});
