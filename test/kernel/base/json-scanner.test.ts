import fc from "fast-check";
import { expect, test } from "vitest";
import { NESTING_MAX } from "../../../src/kernel/base/json.ts";
import { JsonScanner, type JsonVerdict } from "../../../src/kernel/base/json-scanner.ts";

/** A text's verdict, read in pieces of `units`. */
function scan(text: string | readonly string[], units: number): JsonVerdict {
  const scanner = new JsonScanner(text);
  for (;;) {
    const verdict = scanner.scan(units);
    if (verdict !== null) return verdict;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const UNITS = fc.integer({ min: 1, max: 40 });
/** Texts that are close to JSON. */
const TOKENS = fc.string({
  unit: fc.constantFrom(
    ...'[]{},:"\\ \t\n\r/-+.0123eEtu'.split(""),
    "true",
    "false",
    "null",
    '"a":',
    '"\\u00e9"',
    "\\u12",
    '"\\',
    "1.5e-3",
    "-0",
    "01",
    "\u0000",
    "\u007f",
    "\u2028",
    "😀",
  ),
  maxLength: 12,
});

test("a text is JSON where JSON.parse says so, in pieces of any length", () => {
  fc.assert(
    fc.property(fc.oneof(TOKENS, fc.json(), fc.string()), UNITS, (text, units) => {
      expect(scan(text, units).kind).toBe(isJson(text) ? "json" : "invalid");
    }),
    { numRuns: 3_000 },
  );
});

test("JSON with one character changed, added or taken away is what JSON.parse says", () => {
  const change = fc.record({
    at: fc.nat(),
    cut: fc.integer({ min: 0, max: 2 }),
    put: fc.constantFrom(...'[]{},:"\\ \n0-.e'.split(""), ""),
  });
  fc.assert(
    fc.property(fc.json(), change, UNITS, (json, { at, cut, put }, units) => {
      const start = at % (json.length + 1);
      const text = json.slice(0, start) + put + json.slice(start + cut);
      expect(scan(text, units).kind).toBe(isJson(text) ? "json" : "invalid");
    }),
    { numRuns: 3_000 },
  );
});

test("a number may have thousands of digits, and not more", () => {
  expect(scan("1".repeat(4_096), 1).kind).toBe("json");
  for (const text of ["1".repeat(5_000), `0.${"1".repeat(5_000)}`, `1e${"1".repeat(5_000)}`]) {
    expect(scan(text, 7)).toMatchObject({ kind: "excess", excess: expect.stringContaining("more than 4096 char") });
  }
  expect(scan(`0${"1".repeat(5_000)}`, 7).kind).toBe("invalid");
});

test("a text is told to be too deep or to have too many values", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  expect(scan(nested(NESTING_MAX), 3).kind).toBe("json");
  expect(scan(nested(NESTING_MAX + 1), 3)).toEqual({ kind: "excess", excess: "nested deeper than 1000 levels" });
  expect(new JsonScanner("[1,2,3]", "none", 4).scan()?.kind).toBe("json");
  expect(new JsonScanner("[1,2,3]", "none", 3).scan()).toEqual({
    kind: "excess",
    excess: "made of more than 3 values",
  });
});

test("a text in parts gets the verdict that it has as a whole, wherever it is cut", () => {
  // A token that may not end in a part is read with the next one: only longer texts are read in parts.
  const filler = `"${"x".repeat(5_000)}"`;
  const filled = fc.tuple(fc.oneof(TOKENS, fc.json()), fc.oneof(TOKENS, fc.json()));
  fc.assert(
    fc.property(filled, fc.array(fc.nat(10_300)), fc.integer({ min: 1, max: 9_000 }), ([one, other], cuts, units) => {
      const text = `[${filler},${one},${filler},${other}]`;
      const places = [0, ...cuts.toSorted((a, b) => a - b), text.length];
      const parts = places.slice(1).map((end, at) => text.slice(places[at], end));
      expect(scan(parts, units)).toEqual(scan(text, units));
    }),
  );
});
