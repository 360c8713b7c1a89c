import { expect, test } from "vitest";
import { ConfigRedactor } from "../../../../src/kernel/base/redaction/config-redactor.ts";
import type { JsonValue } from "../../../../src/kernel/base/json.ts";

const KEY = "sk-12345";

/** An object in an object, and so on. */
function nested(depth: number): JsonValue {
  return depth === 0 ? KEY : { in: nested(depth - 1) };
}

test("a key in a tool's config is shown by the name of its member, wherever it is", () => {
  const redactor = ConfigRedactor.of({ api: { "the key": KEY }, keys: ["another-key"] });
  expect(redactor?.text(`${KEY}, another-key`)).toBe("(the_key), (keys)");
});

test.each([
  ["a text of seven characters", KEY.slice(1)],
  ["a text of more than 4,096", "x".repeat(4_097)],
  ["a number", 12_345_678],
  ["no member", {}],
  ["null", { key: null }],
  ["a text more than 32 levels below", nested(33)],
])("%s is no key", (_what, config) => {
  expect(ConfigRedactor.of(config)).toBeNull();
});

test.each([
  ["eight characters", { key: KEY }, KEY],
  ["4,096 characters", { key: "x".repeat(4_096) }, "x".repeat(4_096)],
  ["a place 32 levels below", nested(32), KEY],
])("a key may have %s", (_what, config, key) => {
  expect(ConfigRedactor.of(config)?.text(`<${key}>`)).toMatch(/^<\((?:key|in)\)>$/);
});
