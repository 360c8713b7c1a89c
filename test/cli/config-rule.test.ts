import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { asYaml, withRule } from "../../src/cli/config-rule.ts";

const RULE = { tools: ["t"], allow: { env: ["A"] } };

describe("a rule that is added to a configuration", () => {
  test.each([
    ["an empty file", "", 'policy:\n  rules:\n    - tools: ["t"]\n      allow: {"env":["A"]}\n'],
    ["a file of comments", "# only\n", '# only\npolicy:\n  rules:\n    - tools: ["t"]\n      allow: {"env":["A"]}\n'],
    [
      "a file without a policy",
      "port: 1 # one",
      'port: 1 # one\npolicy:\n  rules:\n    - tools: ["t"]\n      allow: {"env":["A"]}\n',
    ],
    [
      "a list of one",
      "policy:\n  rules:\n  - allow: { kv: true } # one\n  # end\n",
      'policy:\n  rules:\n  - allow: { kv: true } # one\n  - tools: ["t"]\n    allow: {"env":["A"]}\n  # end\n',
    ],
    [
      "a list in brackets",
      "policy: { rules: [{ allow: { kv: true } } ] } # p\n",
      'policy: { rules: [{ allow: { kv: true } }, {"tools":["t"],"allow":{"env":["A"]}} ] } # p\n',
    ],
    ["an empty list", "policy: { rules: [] }\n", 'policy: { rules: [{"tools":["t"],"allow":{"env":["A"]}}] }\n'],
    ["JSON", '{\n  "port": 1\n}\n', '{\n  "port": 1, "policy": {"rules":[{"tools":["t"],"allow":{"env":["A"]}}]}\n}\n'],
    [
      "a rule that ends in lines of text",
      "policy:\n  rules:\n    - allow:\n        note: |\n          a\nport: 1\n",
      'policy:\n  rules:\n    - allow:\n        note: |\n          a\n    - tools: ["t"]\n      allow: {"env":["A"]}\nport: 1\n',
    ],
  ])("stands behind the others in %s, and nothing else changes", (_form, before, after) => {
    expect(withRule(before, RULE)).toBe(after);
  });

  test.each([
    ["an alias", "a: &a []\npolicy: { rules: *a }\n"],
    ["a policy without rules", "policy: {}\n"],
    ["a list", "- 1\n"],
    ["rules that are no list", "policy: { rules: many }\n"],
  ])("is not written into %s, but shown to be pasted", (_form, text) => {
    expect(() => withRule(text, RULE)).toThrow('add it to policy.rules\n- tools: ["t"]\n');
  });

  test("adds nothing but itself, whatever texts are in it", () => {
    const texts = ['a\nkeys: [{}]\n"', "a'", "# c", "a: b", "*a", "&a", "\u2028", "{{", "]}", "\u0000", "%", "- x"];
    const text = fc.oneof(
      fc.string({ unit: "binary" }).filter((one) => one.isWellFormed()),
      fc.constantFrom(...texts),
    );
    const files = ["port: 1 # one\n", "policy:\n  rules:\n    - allow: {}\n", '{"port":1,"policy":{"rules":[]}}\n'];
    fc.assert(
      fc.property(fc.array(text), text, fc.constantFrom(...files), (names, origin, file) => {
        const rule = { tools: names, allow: { env: names, fetch: { origins: [origin] } } };
        const before = parse(file) as { policy?: { rules: unknown[] } };
        const rules = [...(before.policy?.rules ?? []), rule];
        expect(parse(withRule(file, rule))).toEqual({ ...before, policy: { rules } });
        expect(parse(asYaml(rule))).toEqual([rule]);
      }),
    );
  });
});
