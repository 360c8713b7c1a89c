import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compilePattern, PatternError } from "../../../src/base/schema/pattern.ts";
import { WorkExceededError, WorkMeter } from "../../../src/base/schema/work-meter.ts";

function meterOf(steps: number): WorkMeter {
  const meter = new WorkMeter();
  meter.refill(steps);
  return meter;
}

const test_ = (pattern: string, text: string) => compilePattern(pattern, meterOf(1e9)).test(text);

describe("a pattern", () => {
  test.each([
    ["^[a-z0-9]+(?:-[a-z0-9]+)*$", "a-b-3", "a--b"],
    ["\\d{3}", "room 101", "room 10"],
    ["^\\p{L}+$", "größe", "größe1"],
    ["\\bfoo\\b", "a foo b", "afoob"],
    ["^\\u0041$", "A", "B"],
    ["^\\S+@\\S+$", "a@b", "a b"],
    ["^[^]$", "\n", ""],
    ["^(?<year>\\d{4})$", "2026", "26"],
  ])("%s finds what JavaScript's would", (pattern, found, missed) => {
    expect([test_(pattern, found), test_(pattern, missed)]).toEqual([true, false]);
  });

  test("agrees with JavaScript on random texts of its alphabet", () => {
    const piece = fc.constantFrom(
      "a",
      "b",
      "[ab]",
      "[^a]",
      ".",
      "a*",
      "b+",
      "(?:a|b)?",
      "\\d",
      "\\w",
      "^",
      "$",
      "(ab){1,2}",
    );
    const pattern = fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(pattern, fc.stringMatching(/^[ab1 ]{0,12}$/), (source, text) => {
        expect(test_(source, text)).toBe(new RegExp(source, "u").test(text));
      }),
      { numRuns: 500 },
    );
  });

  test.each(["(a+)+$", "^(a|aa)+$", "^(.*a){20}$", "(x+x+)+y"])(
    "%s takes time in proportion to the text",
    (pattern) => {
      expect(test_(pattern, `${"a".repeat(50_000)}b`)).toBeTypeOf("boolean");
    },
  );

  test.each([
    ["^(?=.*\\d).+$", /ahead or behind/],
    ["(?<!a)b", /ahead or behind/],
    ["(a)\\1", /refers back/],
    ["(", /RE2/],
    ["a{0,5000}", /repeat/],
  ])("%s is refused with a reason", (pattern, reason) => {
    expect(() => compilePattern(pattern, meterOf(1))).toThrow(PatternError);
    expect(() => compilePattern(pattern, meterOf(1))).toThrow(reason);
  });

  test("counts the text it is matched against", () => {
    const pattern = compilePattern("a", meterOf(10));
    expect(() => pattern.test("b".repeat(100))).toThrow(WorkExceededError);
  });
});
