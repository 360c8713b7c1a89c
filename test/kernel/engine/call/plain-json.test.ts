import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseForWriting } from "../../../../src/kernel/base/exact-json.ts";
import { NOT_PLAIN, TOO_LARGE, writePlain } from "../../../../src/kernel/engine/call/plain-json.ts";

const anything = fc.anything({ withNullPrototype: true, withSparseArray: true, withDate: true });

test("plain data is written as JSON writes it", () => {
  fc.assert(
    fc.property(anything, (value) => {
      const text = writePlain(value);
      if (text !== NOT_PLAIN) expect(text).toBe(JSON.stringify(value));
    }),
  );
});

test("JSON values are plain", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      expect(writePlain(value)).not.toBe(NOT_PLAIN);
    }),
  );
});

test("the name __proto__ is one like any other", () => {
  const value: unknown = JSON.parse('{"a":{"__proto__":{"b":1}}}');
  expect(writePlain(value)).toBe(JSON.stringify(value));
});

test("objects of many members are written as JSON writes them, wherever they stand", () => {
  const wide: Record<string, unknown> = JSON.parse('{"__proto__":[{}],"7":1}');
  for (let at = 0; at < 2_000; at++) wide[`k"${at}`] = [undefined, null, at, "é\n", { at }, []][at % 6];
  const value = { first: [1, wide, {}], wide, "last\ud800": { wide } };
  expect(writePlain(value)).toBe(JSON.stringify(value));
  expect(writePlain({ wide }, 20_000)).toBe(TOO_LARGE);
  expect(writePlain({ wide: { ...wide, toJSON: () => 1 } })).toBe(NOT_PLAIN);
});

test("a value is too large only if its JSON is, however it is nested", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), fc.nat(200), (value, maxBytes) => {
      const isTooLarge = writePlain(value, maxBytes) === TOO_LARGE;
      if (isTooLarge) expect(Buffer.byteLength(JSON.stringify(value))).toBeGreaterThan(maxBytes);
      else expect(writePlain(value)).toBe(JSON.stringify(value));
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
  ["a bigint of more digits than a number of JSON may have", { n: 10n ** 5_000n }],
  ["a cycle", cycle],
])("%s is not plain", (_what, value: unknown) => {
  expect(writePlain(value)).toBe(NOT_PLAIN);
});

test("each property is read once", () => {
  let reads = 0;
  const value = Object.defineProperty({}, "n", { enumerable: true, get: () => ++reads });
  expect([writePlain(value), reads]).toEqual(['{"n":1}', 1]);
});

test("long texts are written as JSON writes them, wherever they were cut and joined", () => {
  const half = `"\\\n\u{1f600}é${"x".repeat(5_000)}`;
  const value = { [half]: half.slice(1), list: [half + half, half.slice(4), `\u{1f600}${half}`.slice(1)] };
  expect(writePlain(value)).toBe(JSON.stringify(value));
});

test("a bigint is written as its digits, wherever it stands", () => {
  const wide = Object.fromEntries(Array.from({ length: 1_100 }, (_, at) => [`k${at}`, BigInt(at) ** 9n]));
  const written = writePlain({ ids: [2n ** 64n, -(2n ** 64n)], wide });
  expect(written).toContain('{"ids":[18446744073709551616,-18446744073709551616],"wide":{"k0":0,"k1":1,');
  expect(written).toContain('"k1000":1000000000000000000000000000,');
  expect(writePlain([2n ** 64n], 5)).toBe(TOO_LARGE);
});

test("digits that were read from JSON are written again", () => {
  const text = '{"id":1915883588174806058,"list":[-1915883588174806058]}';
  expect(writePlain(parseForWriting(text))).toBe(text);
});
