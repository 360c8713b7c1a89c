import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ExpressionError } from "../../../src/contrib/strands/expression-tokens.ts";
import { describeCondition, holds, readExpression } from "../../../src/contrib/strands/expression.ts";
import { isJinja, readJinja } from "../../../src/contrib/strands/jinja.ts";

const SCOPE = {
  text: "Amount: 750",
  score: 90,
  list: ["a", "b", "c"],
  nodes: { review: { response: "I Approve", iteration: 2 } },
  empty: "",
};

describe("an expression", () => {
  test.each([
    ["score >= 85 and not empty", true],
    ["'approve' in nodes.review.response.lower()", true],
    ["'deny' not in nodes.review.response", true],
    ["nodes.other is defined", false],
    ["nodes.other is not defined or score < 1", true],
    ["nodes.other.response == 'x'", false],
    ["text contains '750'", true],
    ["list[-1] == 'c' and list[1:] | length == 2", true],
    ["1 + 2 * 3 == 7 and (1 + 2) * 3 == 9", true],
    ["score > 'text'", false],
    ["{{ nodes.review.iteration >= 3 }}", false],
    ["else", true],
  ])("is true or false: %s", (condition, expected) => {
    expect(holds(condition, SCOPE)).toBe(expected);
  });

  test.each([
    ["text.constructor('x')", "undefined method: constructor"],
    ["eval('x')", "undefined function: eval"],
    ["text | shout", "undefined filter: shout"],
    ["a;b", 'unexpected ";"'],
    ["a b", "unexpected b"],
    ["(".repeat(60), "nested too deeply"],
    [`${"a.".repeat(2_000)}a`, "more than 2000 characters"],
  ])("cannot be read: %s", (condition, problem) => {
    expect(describeCondition(condition)).toContain(problem);
  });

  test("sees own properties only", () => {
    for (const name of ["constructor", "__proto__", "toString"]) {
      expect(readExpression(name)(SCOPE)).toBeUndefined();
      expect(readExpression(`nodes.${name}`)(SCOPE)).toBeUndefined();
    }
  });

  test("does not make texts without a limit", () => {
    const scope = { long: "x".repeat(999_999) };
    expect(() => readExpression("long ~ long")(scope)).toThrow("more than 1000000 characters");
    expect(() => readExpression("long.replace('', long)")(scope)).toThrow(ExpressionError);
    expect(() => readExpression("long | list | join(long)")(scope)).toThrow(ExpressionError);
  });

  test("of whatever text is read or refused", () => {
    const part = fc.constantFrom(
      "a",
      "1",
      "'x'",
      ".",
      "(",
      ")",
      "[",
      "]",
      "|",
      "lower",
      " and ",
      " in ",
      " if ",
      "==",
      "-",
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
        try {
          readExpression(parts.join(""))(SCOPE);
        } catch (error) {
          expect(error).toBeInstanceOf(ExpressionError);
        }
      }),
    );
  });
});

describe("a template in Jinja", () => {
  test.each([
    ["{% if score >= 90 %}A{% elif score >= 80 %}B{% else %}C{% endif %}", "A"],
    [
      "{% for id, node in nodes.items() %}{{ loop.index }} {{ id }}: {{ node.response }}{% endfor %}",
      "1 review: I Approve",
    ],
    ["{{ text | truncate(6) }}", "Amo..."],
    ["{{ nodes | tojson }}", '{"review":{"response":"I Approve","iteration":2}}'],
    ["{{ 'yes' if score > 1 else 'no' }}", "yes"],
    ["a {%- set x = score + 1 -%} {{ x }}{# none #}", "a91"],
  ])("is known, and filled in: %s", (template, expected) => {
    expect(isJinja(template)).toBe(true);
    expect(readJinja(template)(SCOPE)).toBe(expected);
  });

  test.each([
    "{{ a | upcase }}",
    "{% if a contains 'in b' %}x{% elsif b %}y{% endif %}",
    "{% for a in list %}{{ a }}{% endfor %}",
    '{{ my-name | default: "elif" }}',
    "if a in b else c",
  ])("is not what Liquid reads: %s", (template) => {
    expect(isJinja(template)).toBe(false);
  });

  test.each([
    ["{% if a %}", "an if has no endif"],
    ["{% for a in b %}", "a for has no endfor"],
    ["{% endif %}", "unexpected endif"],
    ["{% include 'x' %}", "unexpected include"],
    ["{{ a", "a tag is not closed"],
    ["{% if a %}".repeat(30), "nested too deeply"],
  ])("cannot be read: %s", (template, problem) => {
    expect(() => readJinja(template)).toThrow(problem);
  });

  test("is not filled in without its names, or without a limit", () => {
    expect(() => readJinja("{{ nobody }}")(SCOPE)).toThrow("undefined variable");
    const loops = "{% for a in text %}".repeat(8) + "{% endfor %}".repeat(8);
    expect(() => readJinja(loops)(SCOPE)).toThrow("more than 100000 steps");
  });
});
