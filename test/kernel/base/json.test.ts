import fc from "fast-check";
import { expect, test } from "vitest";
import { describeExcess, NESTING_MAX, parseWithin, VALUES_MAX } from "../../../src/kernel/base/json.ts";

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

test("a text within the limits is parsed as JSON.parse does", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(Array.from({ length: 200 }, () => value));
      expect(parseWithin(text)).toHaveProperty("value", JSON.parse(text));
    }),
  );
});

test("a text with a long integer, among few values or many, is parsed by the function for such texts", () => {
  const numbers = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number.toExponential()),
    fc.bigInt().map(String),
  );
  fc.assert(
    fc.property(numbers, fc.constantFrom(1, 200), (number, count) => {
      const text = `[${`{"a":[${number}]},`.repeat(count)}{}]`;
      const isLong = /^-?\d+$/.test(number) && !Number.isSafeInteger(Number(number));
      const parsed = parseWithin(text, () => "exact");
      expect(parsed).toEqual({ value: isLong ? "exact" : JSON.parse(text), hasLongIntegers: isLong });
    }),
  );
});

test("the nesting of a parsed text is bounded, wherever the deep value is", () => {
  const deep = (depth: number) => `[{"a":{},"__proto__":[${'{"b":1},'.repeat(1_000)}${nested(depth - 3)}]}]`;
  expect(parseWithin(deep(NESTING_MAX))).toHaveProperty("value");
  expect(parseWithin(deep(NESTING_MAX + 1))).toEqual({ excess: expect.stringContaining("nested deeper") as unknown });
  expect(parseWithin(nested(100_000))).toHaveProperty("excess");
});

test("a text of too many values is not parsed", () => {
  expect(parseWithin(`[${"0,".repeat(VALUES_MAX - 1)}0]`)).toEqual({
    excess: expect.stringContaining("more than") as unknown,
  });
});
