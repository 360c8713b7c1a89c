import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  digitsOf,
  isLongInteger,
  mayHaveLongInteger,
  parseForWriting,
  parseWithBigInts,
  parseWithDigits,
} from "../../../src/kernel/base/exact-json.ts";

const ID = "1915883588174806058";
/** Integers of up to 200 bits, around the last one that a number holds too. */
const integer = fc.oneof(
  fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }),
  fc.bigInt({ min: 2n ** 53n - 5n, max: 2n ** 53n + 5n }),
  fc.bigInt({ min: -(2n ** 53n) - 5n, max: -(2n ** 53n) + 5n }),
);
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  integer.map(String),
  integer.map((one) => `\u0001${one}`),
);
const leaf = fc.oneof(
  integer,
  text,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);
/** JSON values, with `bigint`s for all integers of a text's own. */
const tree = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.dictionary(fc.oneof(text, fc.constant("__proto__")), tie("tree"), { maxKeys: 4 }),
  ),
})).tree;

/** JSON in which a `bigint` is its digits, with blanks between its tokens. */
function written(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[ ${value.map(written).join(" ,\n")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)} : ${written(one)} `)
    .join(",")}}`;
}

/** What a reader makes of it: `long` of integers that no number holds, numbers of the others. */
function expected(value: unknown, long: (digits: string) => unknown): unknown {
  if (typeof value === "bigint") return isLongInteger(String(value)) ? long(String(value)) : Number(value);
  if (typeof value === "number" && isLongInteger(JSON.stringify(value))) return long(JSON.stringify(value));
  if (Object.is(value, -0)) return 0;
  if (Array.isArray(value)) return value.map((one) => expected(one, long));
  if (typeof value !== "object" || value === null) return value;
  return JSON.parse("{}", () =>
    Object.defineProperties(
      {},
      Object.fromEntries(
        Object.entries(value).map(([name, one]) => [
          name,
          { value: expected(one, long), enumerable: true, writable: true, configurable: true },
        ]),
      ),
    ),
  );
}

describe("a long integer in JSON", () => {
  test("is one beyond 2^53 - 1, in both directions, and no other number", () => {
    fc.assert(fc.property(integer, (one) => isLongInteger(String(one)) === !Number.isSafeInteger(Number(one))));
    for (const no of [
      "9007199254740991",
      "-9007199254740991",
      "1e400",
      "0.30000000000000004",
      "12345678901234567.5",
      "",
    ])
      expect(isLongInteger(no)).toBe(false);
  });

  test("is a bigint in an isolate, whatever stands around it", () => {
    fc.assert(
      fc.property(tree, (value) => {
        expect(parseWithBigInts(written(value))).toEqual(expected(value, BigInt));
      }),
    );
  });

  test("is its digits for the embedder", () => {
    fc.assert(
      fc.property(tree, (value) => {
        expect(parseWithDigits(written(value))).toEqual(expected(value, String));
      }),
    );
  });

  test("is written as it was read", () => {
    fc.assert(
      fc.property(tree, (value) => {
        const text = written(value);
        expect(parseWithBigInts(JSON.stringify(parseForWriting(text)))).toEqual(parseWithBigInts(text));
      }),
    );
  });

  test("is found by a look at every sixteenth character", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), integer, fc.string({ maxLength: 40 }), (before, one, after) => {
        fc.pre(isLongInteger(String(one)) && !/[\d.]$/.test(before));
        expect(mayHaveLongInteger(before + String(one) + after)).toBe(true);
      }),
    );
    expect(mayHaveLongInteger(JSON.stringify([0.30000000000000004, 123456789012345, "ab".repeat(100)]))).toBe(false);
  });

  test("is not looked for in strings and in parts of other numbers", () => {
    for (const other of [
      `"${ID}"`,
      `"\\"${ID}"`,
      `"${ID}\\\\"`,
      `{"${ID}":1}`,
      `0.${ID}`,
      `${ID}.5`,
      `${ID}e1`,
      `1e-${ID}`,
    ])
      expect(parseWithBigInts(other)).toEqual(JSON.parse(other));
  });

  test("has its digits beside a string that begins with a control character", () => {
    const text = `["\\u0001${ID}",${ID}]`;
    expect(parseWithBigInts(text)).toEqual([`\u0001${ID}`, BigInt(ID)]);
    expect(JSON.stringify(parseForWriting(text))).toBe(text);
  });

  test("tells its digits where it is to be written", () => {
    const { id } = parseForWriting(`{"id":${ID}}`) as { readonly id: object };
    expect(digitsOf(id)).toBe(ID);
    expect(digitsOf({ rawJSON: ID })).toBeNull();
  });

  test("is refused in an isolate where it has more than 4,096 digits", () => {
    expect(() => parseWithBigInts("9".repeat(5_000))).toThrow("4096 digits");
  });
});
