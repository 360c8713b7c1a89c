import { describe, expect, test } from "vitest";
import { compileChecks, compileToolChecks } from "../../../../src/kernel/base/schema/checks.ts";
import { compileSchema } from "../../../../src/kernel/base/schema/schema.ts";
import { GloveboxError } from "../../../../src/kernel/base/errors.ts";
import type { JsonSchema } from "../../../../src/kernel/base/json.ts";
import type { OutputAt } from "../../../../src/kernel/base/protocol/script.ts";
import { openChecks, violationsOf } from "./run-checks.ts";

function refusal(schema: JsonSchema): GloveboxError {
  try {
    compileChecks(schema, null);
  } catch (error) {
    if (error instanceof GloveboxError) return error;
    throw error;
  }
  throw new Error("the schema was accepted");
}

describe("the code of a schema", () => {
  test.each<[JsonSchema, unknown]>([
    [{ type: "object", properties: { count: { type: "integer" } } }, { count: "five" }],
    [{ type: "object", properties: { "a/b": { type: "number" } }, required: ["a/b"] }, {}],
    [{ type: "object", properties: { a: {}, b: {} }, additionalProperties: false }, { c: 1 }],
    [{ enum: ["a", "b"] }, "c"],
    [{ const: { a: 1 } }, 1],
    [{ type: "string", pattern: "^x$", maxLength: 2 }, "abc"],
    [{ type: "string", format: "email" }, "x"],
    [{ type: "string", format: "date-time" }, "2020-13-01T00:00:00Z"],
    [{ format: "color" }, "x"],
    [{ minimum: 3, multipleOf: 2 }, 1],
    [{ uniqueItems: true }, [{ a: 1, b: 2 }, 3, { b: 2, a: 1 }]],
    [{ contains: { const: 1 } }, [2]],
    [{ propertyNames: { maxLength: 2 } }, { long: 1 }],
    [{ if: false, else: false }, 1],
    [{ type: "object", required: ["toString"] }, {}],
    [{ $schema: "https://json-schema.org/draft/2020-12/schema", prefixItems: [{ type: "string" }] }, [1]],
    [{ $schema: "https://json-schema.org/draft/2019-09/schema", dependentRequired: { a: ["b"] } }, { a: 1 }],
    [{ type: "object", properties: { next: { $ref: "#" } }, additionalProperties: false }, { next: { other: {} } }],
    [
      { properties: { a: { $ref: "http://json-schema.org/draft-07/schema" } } },
      { a: { type: "int", items: { minLength: -1 } } },
    ],
    [false, 1],
  ])("says of %j what the host's check says", (schema, value) => {
    expect(violationsOf(schema, value)).toEqual(compileSchema(schema, "inputSchema").check(value));
  });

  test("is absent where a schema allows everything", () => {
    const nothing = { type: "object", title: "t", properties: {}, additionalProperties: true };
    expect(compileChecks(nothing, true)).toEqual({ input: "", output: "" });
    expect(compileChecks(true, { type: "object" }).output).not.toBe("");
    expect(compileChecks({ type: "object", default: {} }, null).input).not.toBe("");
  });

  test("writes defaults into the arguments, fresh for every value", () => {
    const { input } = openChecks(
      compileChecks({ type: "object", properties: { a: { default: 5 }, b: { default: [] } } }, null),
    );
    const [one, two]: { a?: number; b?: unknown }[] = [{}, { a: 1 }];
    expect([input(one), input(two)]).toEqual([null, null]);
    expect([one, two]).toEqual([
      { a: 5, b: [] },
      { a: 1, b: [] },
    ]);
    expect(one?.b).not.toBe(two?.b);
  });

  test("takes Unicode classes, looks around, and patterns that only the older syntax allows", () => {
    const name = { type: "string", pattern: "^\\p{Letter}+$" };
    expect(violationsOf(name, "Zoë")).toEqual([]);
    expect(violationsOf(name, "Z1")).toHaveLength(1);
    expect(violationsOf({ type: "string", pattern: "^(?=.*\\d)(?!x).{3,}$" }, "ab1")).toEqual([]);
    expect(violationsOf({ type: "string", pattern: "^\\d\\-\\d$" }, "1-2")).toEqual([]);
  });

  test("is refused for a pattern with a mistake, with its pointer", () => {
    const error = refusal({ properties: { a: { type: "string", pattern: "(" } } });
    expect(error.details).toEqual({ pointer: "/properties/a/pattern", where: "inputSchema" });
    expect(error.message).toContain("is not a regular expression");
  });

  test("is refused where it is too large for every isolate of a tool", () => {
    const properties = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`p${at}`, { type: "string" }]));
    expect(refusal({ properties }).message).toContain("is too large: the code that checks it has");
  });

  test("stands for itself: it needs nothing but what the runtime offers", () => {
    const { input } = compileChecks({ type: "string", format: "regex", minLength: 2, enum: [["a"], "bb"] }, null);
    const needed = Array.from(input.matchAll(/require\("([^"]+)"\)/g), ([, name]) => name);
    expect(new Set(needed)).toEqual(
      new Set(["ajv-formats/dist/formats", "ajv/dist/runtime/equal", "ajv/dist/runtime/ucs2length"]),
    );
  });
});

describe("violations", () => {
  test("are 20 at most, and none is long", () => {
    const schema = { type: "array", items: { type: "string", maxLength: 3, pattern: "^y*$" } };
    const violations = violationsOf(schema, Array(100).fill("x".repeat(10_000)));
    expect(violations).toHaveLength(20);
    for (const violation of violations) expect(JSON.stringify(violation).length).toBeLessThan(1_024);
  });

  test("are the first one only for a huge value", () => {
    expect(violationsOf({ type: "array", items: { type: "string" } }, Array(1_000_000).fill(1))).toHaveLength(1);
  });

  test("name a value that is nested too deeply", () => {
    let value: object = {};
    for (let depth = 0; depth < 100_000; depth++) value = { n: value };
    const schema = { type: "object", properties: { n: { $ref: "#" } } };
    expect(violationsOf(schema, value)).toMatchObject([{ keyword: "depth" }]);
  });

  test("of an output have no values in their message", () => {
    const { output } = openChecks(compileChecks(true, { type: "string" }));
    expect(output(1)).toMatchObject({
      code: "invalid_output",
      message: "the output does not match the tool's outputSchema",
      violations: [{ received: "number 1" }],
    });
    expect(output("a")).toBeNull();
  });

  test("are 32 Ki characters at most, together with their message", () => {
    const long = "\u0000".repeat(490);
    const names = Array.from({ length: 30 }, (_, at) => `${long}${at}`);
    const value = Object.fromEntries(names.map((name) => [name, long]));
    const refusal = openChecks(compileChecks({ additionalProperties: { enum: ["a"] } }, null)).input(value);
    expect(refusal?.violations.length).toBeGreaterThan(0);
    expect(JSON.stringify(refusal).length).toBeLessThanOrEqual(32 * 1024);
  });
});

describe("the output of an answer that wraps it", () => {
  const keywordsOf = (outputAt: OutputAt, answer: unknown) => {
    const checks = { ...compileChecks(true, { type: ["integer", "array"], minItems: 2 }), outputAt };
    return (
      openChecks(checks)
        .output(answer)
        ?.violations.map(({ keyword }) => keyword) ?? []
    );
  };

  test.each(["/output", "/result"] as const)("is at %s of a success", (at) => {
    const name = at.slice(1);
    expect(keywordsOf(at, { success: true, [name]: 1 })).toEqual([]);
    expect(keywordsOf(at, { success: true, [name]: "a" })).toEqual(["type"]);
    expect(keywordsOf(at, { success: true })).toEqual(["type"]);
    expect(keywordsOf(at, { success: false, status: "success", [name]: "a" })).toEqual([]);
    for (const malformed of [null, 1, [], "a", { [name]: "a" }]) expect(keywordsOf(at, malformed)).toEqual([]);
  });

  test("is the value of the blocks of a success", () => {
    const of = (content: unknown) => keywordsOf("/content", { status: "success", content });
    expect(of([{ json: 1 }])).toEqual([]);
    expect(of([{ json: 1 }, { text: "a" }])).toEqual([]);
    expect(of([{ json: [1] }])).toEqual(["minItems"]);
    expect(of([{ text: "1" }])).toEqual(["type"]);
    expect(of([])).toEqual(["type"]);
    expect(keywordsOf("/content", { status: "error", success: true, content: [{ text: "1" }] })).toEqual([]);
    for (const malformed of [null, {}, [1], [{}], [{ text: 1 }], [{ text: "a", json: 1 }]]) {
      expect(of(malformed)).toEqual([]);
    }
  });
});

test("uniqueItems on a hundred thousand objects takes no minutes", () => {
  const items = Array.from({ length: 100_000 }, (_, index) => ({ index }));
  expect(violationsOf({ uniqueItems: true }, items)).toEqual([]);
});

describe("a default that its own schema refuses", () => {
  test.each([
    ["null of a text", { type: "string", default: null }],
    ["a text of a number", { type: "integer", default: "5" }],
    ["an object of a list", { type: ["array", "null"], default: {} }],
    ["a text that is not among its values", { type: "string", enum: ["a", "b"], default: "c" }],
    ["a number beyond its bound", { type: "integer", maximum: 10, default: 11 }],
    ["an integer beyond one that no number holds", { maximum: 2n ** 60n, default: 2n ** 60n + 1n }],
    ["a text without the form of its pattern", { type: "string", pattern: "^a", default: "b" }],
    ["a list with another item", { type: "array", items: { type: "string" }, default: ["a", 1] }],
    ["what another property refuses", { $ref: "#/properties/other", default: 1 }],
    ["what a definition refuses", { $ref: "#/$defs/short", default: "too long" }],
  ])("%s is an error of the author, with its place", (_what, property) => {
    const $defs = { short: { type: "string", maxLength: 3 } };
    const schema = {
      $defs,
      type: "object",
      properties: { other: { type: "string" }, "a/b": { properties: { c: property } } },
    };
    expect(() => compileToolChecks(schema, null)).toThrow(
      "inputSchema at /properties/a~1b/properties/c/default has the default",
    );
  });

  test("is found in a property that is named like a keyword", () => {
    const schema = { properties: { default: { properties: { a: { type: "string", default: 1 } } } } };
    expect(() => compileToolChecks(schema, null)).toThrow(
      "at /properties/default/properties/a/default has the default 1",
    );
  });

  test("is told with what refuses it", () => {
    const properties = { a: { type: "string", enum: ["a", "b"], default: "c" } };
    expect(() => compileToolChecks({ properties }, null)).toThrow(
      'inputSchema at /properties/a/default has the default "c", which its own schema refuses: it must be one of',
    );
  });

  test("is no error where something allows it", () => {
    for (const property of [
      { type: ["string", "null"], default: null },
      { default: 5 },
      { enum: ["a", 2n ** 60n], default: 2n ** 60n },
      { type: "integer", maximum: 10, default: 10 },
      { type: "object", properties: { b: { type: "integer", default: 1 } }, required: ["b"], default: {} },
      { type: "string", nullable: true, default: null },
    ])
      expect(() => compileToolChecks({ type: "object", properties: { a: property } }, null)).not.toThrow();
  });
});
