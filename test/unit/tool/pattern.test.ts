import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PatternCompiler } from "../../../src/tool/pattern.ts";
import { PatternError } from "../../../src/tool/pattern-syntax.ts";
import { WorkExceededError, WorkMeter } from "../../../src/tool/work-meter.ts";

function newCompiler(): PatternCompiler {
  const meter = new WorkMeter();
  meter.refill(Number.MAX_SAFE_INTEGER);
  return new PatternCompiler(meter);
}

/** What V8 says, with the `u` flag where the pattern has a meaning under it. */
function native(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}

describe("a compiled pattern agrees with V8", () => {
  const strings = [
    "",
    "x",
    "a",
    "aa",
    "aaa",
    "foo bar",
    "1.2.3.4",
    "a@b.c",
    "-a",
    "éü",
    "😀",
    "abc1",
    "abx1",
    "a{,3}",
    "b",
  ];
  strings.push("abab", "\n", "\0", "12", "a\n", "\ud83d", "ab", "_a-1", "2020-01-31", "]", "}");
  test.each([
    ["^x$", "", "x|", "(?:)", "[^]", "[]", "(?!)", "."].flat(),
    ["(a|aa)+$", "^(?:a*)*$", "^(a?){5}a{5}$", "(?:){3}a", "a{2}b?", "a+?b", "^.{2,4}$", "^(?:a|b){2,}$"],
    ["(?=.*\\d)(?!.*x)[a-z\\d]{3,8}$", "^(?:(?=a)a|b)*$", "^(?!a)", "(?=a)*b", "(?:(?!b).)*$"],
    ["\\bfoo\\b", "\\B", "^\\w+\\b$", "(?:^|\\s)bar"],
    ["\\-a", "a{,3}", "]", "}", "\\_a", "[\\w-.]+", "\\x61+", "\\u0061", "\\cJ", "\\0", "\\a"],
    ["^\\p{L}+$", "\\u{61}", "^\\uD83D\\uDE00$", "^[😀]$", "^.$", "\\uD83D", "[^a]"],
    ["(?<year>\\d{4})-(?<month>\\d\\d)", "^[A-Za-z_][\\w-]*$", "^(\\d{1,3}\\.){3}\\d{1,3}$", "[\\]\\\\x]", "[a\\]]+$"],
  ])("on %s and their like", (...patterns) => {
    for (const pattern of patterns) {
      const compiled = newCompiler().compile(pattern);
      for (const text of strings) {
        expect([pattern, text, compiled.test(text)]).toEqual([pattern, text, native(pattern).test(text)]);
      }
    }
  });

  test("on random patterns and random strings", () => {
    // Without surrogate pairs: V8 finds \\B in the middle of one, and says that "😀" does not fit /[^a]$/u.
    const atom = fc.constantFrom("a", "b", ".", "\\w", "[ab]", "[^a]", "^", "$", "\\b", "\\B", "\\d", "é", "\\s");
    const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
      pattern: fc.oneof(
        { maxDepth: 5 },
        atom,
        fc.tuple(tie("pattern"), tie("pattern")).map(([a, b]) => a + b),
        fc.tuple(tie("pattern"), tie("pattern")).map(([a, b]) => `(?:${a}|${b})`),
        fc
          .tuple(tie("pattern"), fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "{0,2}?", "{2,}"))
          .map(([a, q]) => `(${a})${q}`),
        fc.tuple(fc.constantFrom("?=", "?!"), tie("pattern")).map(([look, a]) => `(${look}${a})`),
      ),
    }));
    const text = fc.string({ unit: fc.constantFrom("a", "b", "1", " ", "é", "\n"), maxLength: 8 });
    fc.assert(
      fc.property(pattern, fc.array(text, { maxLength: 5 }), (source, texts) => {
        const compiled = newCompiler().compile(source);
        for (const one of texts) expect(compiled.test(one)).toBe(native(source).test(one));
      }),
      { numRuns: 1_000 },
    );
  });
});

test("the work of a match is metered", () => {
  const meter = new WorkMeter();
  const pattern = new PatternCompiler(meter).compile("^(?:a|b)*$");
  meter.refill(100);
  expect(() => pattern.test("ab".repeat(1_000))).toThrow(WorkExceededError);
  meter.refill(10_000);
  expect(pattern.test("ab".repeat(1_000))).toBe(true);
});

test("states are forgotten before they fill the memory", () => {
  const pattern = newCompiler().compile("a.{14}$");
  let text = "";
  for (let at = 0, seed = 1; at < 20_000; at++, seed = (seed * 48_271) % 0x7fffffff) text += seed % 3 === 0 ? "a" : "b";
  expect(pattern.test(`${text}${"b".repeat(20)}`)).toBe(false);
  expect(pattern.test(`${text}a${"b".repeat(14)}`)).toBe(true);
});

test.each([
  "(",
  "[",
  "(?<=a)",
  "(?<!a)",
  "(a)\\1",
  "(?<n>a)\\k<n>",
  "(?i:a)",
  "\\012",
  "(".repeat(200) + ")".repeat(200),
])("the pattern %s is refused", (pattern) => {
  expect(() => newCompiler().compile(pattern)).toThrow(PatternError);
});
