import { describe, expect, test } from "vitest";
import { readYaml, readYamlText, YamlError } from "../../../src/kernel/base/yaml-text.ts";

const lines = (count: number, line: (at: number) => string) => Array.from({ length: count }, (_, at) => line(at));

describe("a text of YAML", () => {
  test("is read, JSON as well", () => {
    expect(readYaml("a: &a [1]\nb: *a")).toEqual({ a: [1], b: [1] });
    expect(readYaml('{ "a": { "__proto__": 1 } }')).toEqual({ a: JSON.parse('{ "__proto__": 1 }') as unknown });
  });

  test("with a hundred thousand keys takes no minutes", () => {
    expect(Object.keys(readYaml(lines(100_000, (at) => `k${at}: 1`).join("\n")) as object)).toHaveLength(100_000);
  }, 20_000);

  test.each([
    ["with a key that is there twice", "a: 1\nb: { c: 1, c: 2 }", "unique"],
    [
      "with very many aliases",
      [...lines(2_000, (at) => `- &a${at} x`), ...lines(2_000, (at) => `- *a${at}`)].join("\n"),
      "aliases",
    ],
    ["whose aliases stand for very much", `a: &a [x]\nb: [${"*a, ".repeat(200)}]`, "aliases"],
    ["that is nested very deeply", "- ".repeat(5_000), "nested too deeply"],
    ["that is malformed", "a: [", "Flow sequence"],
  ])("%s is refused", (_what, text, problem) => {
    expect(() => readYaml(text)).toThrow(YamlError);
    expect(() => readYaml(text)).toThrow(problem);
  });
});

test("merge keys bring the members of other maps, and own members count more", () => {
  const text =
    "base: &base { a: 1, b: 2 }\nmore: &more { b: 3, c: 4 }\none: { <<: *base, b: 5 }\ntwo: { <<: [*base, *more] }\n";
  expect(readYaml(text)).toMatchObject({ one: { a: 1, b: 5 }, two: { a: 1, b: 2, c: 4 } });
});

describe("a text with positions", () => {
  test("has the nearest numbers as its value, which other threads can have, and the digits when asked", () => {
    const { value, exact } = readYamlText("a: &a [1915883588174806059, 1e999, 0xffffffffffffffff]\nb: *a");
    const numbers = [1915883588174806000, Infinity, 18446744073709552000];
    expect(structuredClone(value)).toEqual({ a: numbers, b: numbers });
    const { a, b } = exact() as Readonly<Record<"a" | "b", readonly unknown[]>>;
    expect(JSON.stringify(b)).toBe("[1915883588174806059,null,18446744073709551615]");
    expect(a[1]).toBe(Infinity);
  });
});
