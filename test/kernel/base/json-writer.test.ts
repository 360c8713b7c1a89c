import * as fc from "fast-check";
import { expect, test } from "vitest";
import { rawDigits } from "../../../src/kernel/base/exact-json.ts";
import { copyJson, writeAny } from "../../../src/kernel/base/json-writer.ts";

test("a value without bigints and odd numbers is written as JSON writes it", () => {
  fc.assert(
    fc.property(
      fc.anything({ withDate: true, withMap: true, withTypedArray: true, withNullPrototype: true }),
      (value) => {
        const written = attempt(() => writeAny(value));
        if (!(written instanceof RangeError)) expect(written).toEqual(attempt(() => JSON.stringify(value)));
      },
    ),
  );
});

function attempt(write: () => string): unknown {
  try {
    return write();
  } catch (error) {
    return error;
  }
}

test("a bigint is its digits", () => {
  expect(writeAny({ at: new Date(0), id: -(2n ** 70n), list: [1n] })).toBe(
    '{"at":"1970-01-01T00:00:00.000Z","id":-1180591620717411303424,"list":[1]}',
  );
});

test.each([
  ["/mean is NaN", { mean: 0 / 0 }],
  ["/a/1/b~1c is Infinity", { a: [new Date(0), { x: {}, "b/c": 1 / 0 }] }],
  ["/list/2 is -Infinity", { list: [{}, [], -1 / 0] }],
  ["/id is an integer of more than 4096 digits", { first: { id: 1 }, id: 10n ** 5_000n }],
  ["/id is an integer of more than 4096 digits", { first: { id: 1 }, id: rawDigits("9".repeat(4_097)) }],
  ["/m is a Map; send Object.fromEntries(map)", { m: new Map([["a", 1]]) }],
  ["/list/0 is a Set; send [...set]", { list: [new Set([1])] }],
  ["/b is bytes; send", { b: new Uint8Array([1, 2]) }],
  ["/e is an error; send its message", { e: new TypeError("x") }],
  ["/p is a promise; await it", { p: Promise.resolve(1) }],
  ["/list/1 is a function, which JSON does not have", { list: [1, () => 1] }],
])("an error says that %s", (said, value) => {
  expect(() => writeAny(value)).toThrow(said);
});

test("a copy of JSON has the digits of long integers, and the numbers of its original", () => {
  const value = { id: rawDigits("1915883588174806059"), amount: 2 ** 60, list: [1e300, { a: null }] };
  const copy = copyJson(value);
  expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
  expect(copy).toEqual(value);
  expect(copy.list).not.toBe(value.list);
});
