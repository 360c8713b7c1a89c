import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GloveboxError } from "../../../../src/kernel/base/errors.ts";
import type { JsonSchema } from "../../../../src/kernel/base/json.ts";
import { compileSchema } from "../../../../src/kernel/base/schema/schema.ts";
import { describeViolations } from "../../../../src/kernel/base/schema/violation.ts";

const check = (schema: JsonSchema, value: unknown) => compileSchema(schema, "inputSchema").check(value);

function refusal(schema: unknown): GloveboxError {
  try {
    compileSchema(schema as JsonSchema, "inputSchema");
  } catch (error) {
    if (error instanceof GloveboxError) return error;
    throw error;
  }
  throw new Error("the schema was accepted");
}

describe("names that every object has", () => {
  const named = (name: string, value: unknown): unknown =>
    JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`);
  const names = ["__proto__", "constructor", "hasOwnProperty", "toString"];

  test.each(names)("a property %s is enforced like any other", (name) => {
    const schema = { properties: named(name, { type: "number" }), additionalProperties: false } as JsonSchema;
    expect(check(schema, named(name, 1))).toEqual([]);
    expect(check(schema, named(name, "1"))).toMatchObject([{ pointer: `/${name}` }]);
    expect(check(schema, { other: 1 })).toHaveLength(1);
    expect(check({ required: [name] }, {})).toMatchObject([{ received: "missing" }]);
    expect(check({ required: [name] }, named(name, 1))).toEqual([]);
  });

  test.each(names)("a pattern %s and a dependency of it are enforced", (name) => {
    const pattern = { patternProperties: named(name, { type: "number" }) } as JsonSchema;
    expect(check(pattern, named(`x${name}`, "1"))).toHaveLength(1);
    expect(check({ dependencies: named(name, ["other"]) } as JsonSchema, named(name, 1))).not.toEqual([]);
    expect(check({ dependencies: named(name, { maxProperties: 0 }) } as JsonSchema, named(name, 1))).not.toEqual([]);
  });

  test("they are checked below properties that are named like keywords", () => {
    for (const keyword of ["const", "default", "enum", "examples", "required"]) {
      const schema = { properties: { [keyword]: { properties: named("__proto__", { type: "string" }) } } };
      expect(check(schema as JsonSchema, { [keyword]: named("__proto__", "1") })).toEqual([]);
      expect(check(schema as JsonSchema, { [keyword]: named("__proto__", 1) })).toHaveLength(1);
    }
  });

  test("a value that has them is left as it is", () => {
    const values = [named("properties", named("__proto__", 1))];
    expect(check({ enum: values } as JsonSchema, values[0])).toEqual([]);
    expect(check({ const: values[0] } as JsonSchema, named("properties", {}))).toHaveLength(1);
  });
});

describe("dialects", () => {
  const uris = [
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft/2019-09/schema#",
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema#",
  ];
  test.each(uris)("%s is accepted", ($schema) => {
    const schema = { $schema, type: "object", required: ["a"] };
    expect(check(schema, { a: 1 })).toEqual([]);
    expect(check(schema, {})).toHaveLength(1);
  });

  test.each(["http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "x", 7])(
    "%s is refused by name",
    ($schema) => {
      const error = refusal({ $schema });
      expect(error).toMatchObject({ code: "load_error", details: { pointer: "/$schema", where: "inputSchema" } });
      expect(error.message).toContain("use draft-07, 2019-09 or 2020-12");
    },
  );

  test("2020-12 has prefixItems, which draft-07 ignores", () => {
    const schema = { prefixItems: [{ type: "string" }] };
    expect(check({ ...schema, $schema: "https://json-schema.org/draft/2020-12/schema" }, [1])).toHaveLength(1);
    expect(check({ ...schema, $schema: "http://json-schema.org/draft-07/schema#" }, [1])).toEqual([]);
  });

  test.each([
    [{ properties: { pair: { prefixItems: [{ type: "string" }] } } }, { pair: [1] }, 1],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, 1],
    // Values are no keywords.
    [{ default: { prefixItems: [] }, items: [{ type: "string" }] }, [1], 1],
    [{ items: [{ type: "string" }], dependentRequired: { a: ["b"] } }, [1], 1],
    [{ dependencies: { a: ["b"] }, dependentRequired: { a: ["c"] } }, { a: 1, b: 1 }, 0],
  ])("a schema that names none is of the dialect that knows its keywords: %j", (schema, value, count) => {
    expect(check(schema, value)).toHaveLength(count);
  });

  test("2019-09 has dependentRequired and 2020-12 has $dynamicRef", () => {
    const needsB = { $schema: "https://json-schema.org/draft/2019-09/schema", dependentRequired: { a: ["b"] } };
    expect(check(needsB, { a: 1 })).toMatchObject([{ pointer: "/b", received: "missing" }]);
    const tree = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $dynamicAnchor: "node",
      type: "object",
      properties: { next: { $dynamicRef: "#node" } },
    };
    expect(check(tree, { next: { next: 1 } })).toMatchObject([{ pointer: "/next/next" }]);
  });
});

describe("schemas that compile", () => {
  test("true allows everything and false nothing", () => {
    expect(check(true, 1)).toEqual([]);
    expect(check(false, 1)).toHaveLength(1);
  });

  test("unknown keywords and unknown formats of other systems are ignored", () => {
    expect(check({ type: "string", format: "color", "x-order": 1, example: 2, markdownDescription: "" }, "a")).toEqual(
      [],
    );
  });

  test("the same $id in many schemas collides nowhere", () => {
    for (let count = 0; count < 50; count++) {
      expect(check({ $id: "https://example.com/same", type: "integer" }, count)).toEqual([]);
    }
  });

  test("a recursive $ref checks nested values", () => {
    const tree = { type: "object", properties: { next: { $ref: "#" } }, additionalProperties: false };
    expect(check(tree, { next: { next: {} } })).toEqual([]);
    expect(check(tree, { next: { other: {} } })).toMatchObject([{ pointer: "/next/other" }]);
  });

  test.each([
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
  ])("a $ref to %s checks schemas", ($schema) => {
    const schema = { $schema, properties: { a: { $ref: $schema } } };
    expect(check(schema, { a: { type: "string" } })).toEqual([]);
    expect(check(schema, { a: { type: "int" } })).not.toEqual([]);
  });

  test("the schema that was given may change afterwards without effect", () => {
    const schema = { type: "object", required: ["a"] };
    const validator = compileSchema(schema, "inputSchema");
    schema.required = [];
    expect(validator.check({})).toHaveLength(1);
  });

  test("what every object inherits does not count as present", () => {
    expect(check({ type: "object", required: ["toString"] }, {})).toMatchObject([{ pointer: "/toString" }]);
  });
});

describe("a schema that is in use already", () => {
  const schema = () => ({ type: "object", properties: { a: { type: "integer" } }, title: "in use" });

  test("has its validator shared, and the values of one tool are nothing to the others", () => {
    const [one, two] = [compileSchema(schema(), "inputSchema"), compileSchema(schema(), "inputSchema")];
    expect(two).toBe(one);
    expect(one.check({ a: "x" })).toHaveLength(1);
    expect(two.check({ a: 1 })).toEqual([]);
    expect(one.check({ a: 1 })).toEqual([]);
  });

  test("is not shared where anything about it differs", () => {
    const validator = compileSchema(schema(), "inputSchema");
    const dialect = { $schema: "https://json-schema.org/draft/2020-12/schema", ...schema() };
    expect(compileSchema(schema(), "outputSchema")).not.toBe(validator);
    expect(compileSchema(dialect, "inputSchema")).not.toBe(validator);
    expect(compileSchema({ ...schema(), required: ["a"] }, "inputSchema").check({})).toHaveLength(1);
  });

  test("is refused again where it was refused before", () => {
    for (let count = 0; count < 2; count++) expect(refusal({ type: "int" }).message).toContain("/type is not valid");
  });

  test("is told from all others, also where there are more of them than are remembered", () => {
    for (let count = 0; count < 600; count++) {
      expect(check({ const: count }, count)).toEqual([]);
    }
  });
});

describe("schemas that do not compile", () => {
  test("a wrong type of a known keyword is named with its pointer", () => {
    const error = refusal({ type: "object", properties: { "a/b": { type: "int" } } });
    expect(error.details).toEqual({ pointer: "/properties/a~1b/type", where: "inputSchema" });
    expect(error.message).toContain("inputSchema at /properties/a~1b/type is not valid JSON Schema draft-07");
    expect(error.message).toContain("integer");
  });

  test("a $ref to another document is named and never loaded", () => {
    const error = refusal({ properties: { a: { $ref: "https://example.com/a.json#/x" } } });
    expect(error.details).toMatchObject({ pointer: "/properties/a/$ref" });
    expect(error.message).toContain("nothing is loaded");
  });

  test("a $ref to a definition that is missing is named", () => {
    expect(refusal({ items: { $ref: "#/definitions/none" } }).details).toMatchObject({ pointer: "/items/$ref" });
  });

  test.each([[null], [[]], ["x"], [1], [undefined]])("%s is no schema", (schema) => {
    expect(refusal(schema).message).toContain("must be a JSON Schema");
  });

  test("a schema of more than 1 MiB is refused", () => {
    expect(refusal({ description: "x".repeat(1024 * 1024) }).message).toContain("larger than");
  });

  test("a schema deeper than 200 levels is refused, however deep it is", () => {
    let schema: object = {};
    for (let depth = 0; depth < 100_000; depth++) schema = { not: schema };
    expect(refusal(schema).message).toContain("nested deeper than 200 levels");
  });

  test("a cyclic schema is refused", () => {
    const schema: { not?: object } = {};
    schema.not = { not: schema };
    expect(refusal(schema)).toMatchObject({ details: { pointer: "/not/not" } });
  });

  test("a schema in which shared objects multiply is refused at once", () => {
    let schema: object = { type: "string" };
    for (let depth = 0; depth < 60; depth++) schema = { anyOf: [schema, schema] };
    expect(refusal(schema).code).toBe("load_error");
  });

  test("thousands of subschemas are refused or compiled within seconds", () => {
    const wide = { anyOf: Array.from({ length: 4_000 }, (_, index) => ({ required: [`p${index}`] })) };
    expect(refusal(wide).code).toBe("load_error");
    expect(refusal({ allOf: Array.from({ length: 6_000 }, () => ({})) }).message).toContain("more than 5000 objects");
    expect(refusal({ examples: Array.from({ length: 60_000 }, (_, at) => at) }).message).toContain(
      "more than 50000 values",
    );
  });

  test("a long enum whose values have all to differ is checked in time", () => {
    const objects = Array.from({ length: 24_000 }, (_, index) => [index]);
    expect(check({ enum: objects }, 1)).toHaveLength(1);
  });

  test("$async, which would make checks promises, is refused", () => {
    expect(refusal({ $async: true, type: "string" }).details).toMatchObject({ pointer: "/$async" });
    expect(refusal({ properties: { a: { $async: true, type: "string" } } }).message).toContain("async");
  });

  test.each([
    ["(", "is not a regular expression: Unterminated group"],
    ["[", "is not a regular expression: Unterminated character class"],
    ["a{2,1}", "is not a regular expression: numbers out of order in {} quantifier"],
  ])("the pattern %s is refused: %s", (pattern, reason) => {
    const error = refusal({ properties: { a: { type: "string", pattern } } });
    expect(error.details).toMatchObject({ pointer: "/properties/a/pattern" });
    expect(error.message).toContain(reason);
    expect(refusal({ patternProperties: { [pattern]: { type: "string" } } }).message).toContain(reason);
  });
});

describe("violations", () => {
  const one = (schema: JsonSchema, value: unknown) => {
    const violations = check(schema, value);
    expect(violations).toHaveLength(1);
    return violations[0];
  };

  test("a wrong type says what is expected and what was sent", () => {
    const schema = { type: "object", properties: { count: { type: "integer" } } };
    expect(one(schema, { count: "five" })).toEqual({
      pointer: "/count",
      keyword: "type",
      expected: "integer",
      received: 'string "five"',
      message: '/count must be integer, but got string "five"',
    });
  });

  test("a value that JSON does not have is named by its kind", () => {
    const schema = { type: "object", properties: { source: { type: "string" } } };
    expect(one(schema, { source: () => 1 })?.message).toBe("/source must be string, but got a function");
    expect(one(schema, { source: Symbol("s") })?.message).toBe("/source must be string, but got a symbol");
  });

  test("a missing property is pointed to itself, with its type", () => {
    const schema = { type: "object", properties: { "a/b": { type: "number" } }, required: ["a/b"] };
    expect(one(schema, {})).toMatchObject({
      pointer: "/a~1b",
      expected: "number",
      received: "missing",
      message: "/a~1b is required, but is missing; it must be number",
    });
  });

  test("an extra property is pointed to itself, with those that are allowed", () => {
    const schema = { type: "object", properties: { a: {}, b: {} }, additionalProperties: false };
    expect(one(schema, { c: 1 })).toMatchObject({
      pointer: "/c",
      received: "number 1",
      message: '/c is not allowed; expected one of the properties "a", "b"',
    });
  });

  test.each<[JsonSchema, unknown, string]>([
    [{ enum: ["a", "b"] }, "c", 'one of "a", "b"'],
    [{ const: { a: 1 } }, 1, "the constant object with 1 property"],
    [{ type: ["string", "null"] }, 1, "string or null"],
    [{ type: "string", pattern: "^x$" }, "abc", "string matching ^x$"],
    [{ type: "string", maxLength: 10 }, "12345678901", "at most 10 characters"],
    [{ type: "string", minLength: 1 }, "", "at least 1 character"],
    [{ type: "string", format: "email" }, "x", "string of format email"],
    [{ minimum: 3 }, 2, ">= 3"],
    [{ exclusiveMaximum: 3 }, 3, "< 3"],
    [{ multipleOf: 2 }, 3, "a multiple of 2"],
    [{ minItems: 2 }, [1], "an array of at least 2 items"],
    [{ maxItems: 0 }, [1], "an array of at most 0 items"],
    [
      { uniqueItems: true },
      [{ a: 1, b: 2 }, 3, { b: 2, a: 1 }],
      "an array without duplicates (items 0 and 2 are equal)",
    ],
    [{ contains: { const: 1 } }, [2], "an array with at least 1 items that the schema in contains allows"],
    [{ minProperties: 1 }, {}, "an object of at least 1 property"],
    [{ not: {} }, 1, "something that the schema in not does not allow"],
    [{ if: false, else: false }, 1, "valid against the schema in else"],
    [{ properties: { a: false } }, { a: 1 }, "absent: nothing is allowed here"],
  ])("%j says of %j that it expects %s", (schema, value, expected) => {
    expect(check(schema, value).map((violation) => violation.expected)).toContain(expected);
  });

  test("a name that propertyNames refuses is quoted", () => {
    const violations = check({ propertyNames: { maxLength: 2 } }, { long: 1 });
    expect(violations[0]).toMatchObject({ pointer: "/long", received: 'the name "long"' });
  });

  test("all violations are listed, at most 50", () => {
    const schema = { type: "array", items: { type: "string" } };
    expect(check(schema, [1, "a", 2])).toMatchObject([{ pointer: "/0" }, { pointer: "/2" }]);
    expect(check(schema, Array(10_000).fill(1))).toHaveLength(50);
  });

  test("a huge value with countless violations gets the first one only", () => {
    expect(check({ type: "array", items: { type: "string" } }, Array(1_000_000).fill(1))).toHaveLength(1);
  });

  test("nothing of a violation is long, however long value and schema are", () => {
    const long = "x".repeat(10_000);
    const schema = {
      type: "object",
      properties: {
        [long]: {
          enum: Array(90)
            .fill(0)
            .map((_, i) => long + i),
        },
      },
    };
    for (const violation of check(schema, { [long]: long })) {
      for (const text of Object.values(violation)) expect(String(text).length).toBeLessThan(1_500);
    }
  });

  test("a summary names five and counts the others", () => {
    const violations = check({ type: "array", items: { type: "string" } }, [1, 2, 3, 4, 5, 6, 7]);
    expect(describeViolations(violations)).toMatch(/^\/0 must be string, but got number 1; .*; and 2 more$/);
    expect(describeViolations([])).toBe("");
  });
});

describe("defaults", () => {
  const schema = {
    type: "object",
    properties: {
      a: { type: "integer", default: 5 },
      n: { type: "object", properties: { b: { default: [] } }, default: {} },
    },
  };

  test("are written into the value", () => {
    const value = {};
    expect(check(schema, value)).toEqual([]);
    expect(value).toEqual({ a: 5, n: { b: [] } });
  });

  test("are fresh for every value", () => {
    const validator = compileSchema(schema, "inputSchema");
    const [one, two] = [{ n: { b: undefined } }, { n: { b: undefined } }];
    validator.check(one);
    validator.check(two);
    expect(one.n.b).not.toBe(two.n.b);
  });

  test("are announced by hasDefaults wherever they may apply", () => {
    expect(compileSchema(schema, "inputSchema").hasDefaults).toBe(true);
    expect(compileSchema({ $ref: "#/definitions/a", definitions: { a: schema } }, "inputSchema").hasDefaults).toBe(
      true,
    );
    expect(compileSchema({ properties: { a: {} } }, "inputSchema").hasDefaults).toBe(false);
    expect(compileSchema(true, "inputSchema").hasDefaults).toBe(false);
  });

  test("reach no prototype", () => {
    const hostile = JSON.parse(
      '{"properties":{"__proto__":{"default":{"polluted":1},"properties":{"polluted":{"default":1}}},"constructor":{"properties":{"prototype":{"properties":{"polluted":{"default":1}}}}}}}',
    ) as JsonSchema;
    check(hostile, {});
    check(hostile, JSON.parse('{"__proto__":{},"constructor":{}}'));
    expect(Reflect.get({}, "polluted")).toBeUndefined();
    expect(Reflect.get(Object, "polluted")).toBeUndefined();
  });
});

// What would take minutes here runs into the time limit of its test.
describe("hostile values", () => {
  test("a pattern over a string of a megabyte is checked in full", () => {
    const base64 = { type: "string", pattern: "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==)?$" };
    expect(check(base64, "AAAA".repeat(250_000))).toEqual([]);
    expect(check(base64, `${"AAAA".repeat(250_000)}!`)).toMatchObject([{ keyword: "pattern" }]);
  });

  test("uniqueItems on a hundred thousand objects takes no minutes", () => {
    const items = Array.from({ length: 100_000 }, (_, index) => ({ index }));
    expect(check({ uniqueItems: true }, items)).toEqual([]);
  });

  test("a value nested a hundred thousand deep ends as a violation", () => {
    let value: object = {};
    for (let depth = 0; depth < 100_000; depth++) value = { n: value };
    expect(check({ type: "object", properties: { n: { $ref: "#" } } }, value)).toMatchObject([{ keyword: "depth" }]);
  });

  test("a schema that refers to itself without end is a violation and no overflow", () => {
    expect(check({ allOf: [{ $ref: "#" }] }, 1)).toMatchObject([{ pointer: "" }]);
  });

  test.each(["email", "uri", "url", "date-time", "uuid", "hostname", "json-pointer", "regex", "byte", "ipv6"])(
    "the format %s takes its time in proportion to the string",
    (format) => {
      const validator = compileSchema({ type: "string", format }, "inputSchema");
      for (const part of ["a", ":", ".", "a.", "-", "@", "/", "%", "1"]) {
        for (const start of ["", "http://", "a@"]) {
          const text = start + part.repeat(100_000 / part.length) + "\u0000";
          expect(validator.check(text)).toBeInstanceOf(Array);
        }
      }
    },
  );

  test("a URL has at most 4,096 characters", () => {
    const url = (length: number): string => `http://a.example/${"a".repeat(length - 17)}`;
    const schema = { type: "string", format: "url" };
    expect([4_096, 4_097].map((length) => check(schema, url(length)).length)).toEqual([0, 1]);
  });

  test("maxLength bounds the time of a pattern, also where other values are wrong", () => {
    const a = { type: "string", maxLength: 64, pattern: "^(a+)+$" };
    const schema = { properties: { b: { type: "integer" }, a } };
    const value = { b: "x", a: `${"a".repeat(5_000)}!` };
    expect(check(schema, value)).toMatchObject([{ pointer: "/b" }, { pointer: "/a", keyword: "maxLength" }]);
    expect(check({ properties: { a } }, value)).toMatchObject([{ pointer: "/a", keyword: "maxLength" }]);
  });

  test("a long string that does not match its pattern is a violation", () => {
    const properties = { a: { type: "string", pattern: "^a*$" }, b: { type: "integer" } };
    const a = `${"a".repeat(5_000)}!`;
    expect(check({ properties }, { a, b: 1 })).toMatchObject([{ pointer: "/a", keyword: "pattern" }]);
    expect(check({ properties }, { a: "b", b: "x" })).toMatchObject([{ pointer: "/a" }, { pointer: "/b" }]);
  });
});

describe("properties", () => {
  const type = fc.constantFrom("string", "number", "integer", "object", "array", "boolean", "null");
  const { schema: anySchema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4 },
      fc.boolean(),
      fc.record(
        {
          type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
          properties: fc.dictionary(fc.string(), tie("schema"), { maxKeys: 3 }),
          required: fc.uniqueArray(fc.string(), { maxLength: 3 }),
          additionalProperties: tie("schema"),
          items: tie("schema"),
          anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }),
          not: tie("schema"),
          default: fc.jsonValue(),
          enum: fc.uniqueArray(fc.integer(), { minLength: 1, maxLength: 3 }),
          pattern: fc.constantFrom("a", "^b$", "[", "(?!x)"),
          minLength: fc.integer({ min: -1, max: 3 }),
          uniqueItems: fc.boolean(),
          $ref: fc.constantFrom("#", "#/properties/a", "other"),
        },
        { requiredKeys: [] },
      ),
    ),
  }));

  test("any schema compiles or is refused, and any value is checked without throwing", () => {
    fc.assert(
      fc.property(anySchema, fc.jsonValue(), (schema, value) => {
        try {
          const validator = compileSchema(schema, "outputSchema");
          for (const violation of validator.check(structuredClone(value))) expect(violation.message).not.toBe("");
        } catch (error) {
          expect(error).toBeInstanceOf(GloveboxError);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("checking a copy leaves the original alone, whatever the defaults", () => {
    fc.assert(
      fc.property(anySchema, fc.jsonValue(), (schema, value) => {
        const before = JSON.stringify(value);
        try {
          compileSchema(schema, "inputSchema").check(structuredClone(value));
        } catch (error) {
          expect(error).toBeInstanceOf(GloveboxError);
        }
        expect(JSON.stringify(value)).toBe(before);
      }),
      { numRuns: 100 },
    );
  });

  test("without hasDefaults a check changes nothing", () => {
    fc.assert(
      fc.property(anySchema, fc.jsonValue(), (schema, value) => {
        let before: string | undefined;
        try {
          const validator = compileSchema(schema, "inputSchema");
          if (validator.hasDefaults) return;
          before = JSON.stringify(value);
          validator.check(value);
        } catch (error) {
          expect(error).toBeInstanceOf(GloveboxError);
        }
        if (before !== undefined) expect(JSON.stringify(value)).toBe(before);
      }),
      { numRuns: 100 },
    );
  });
});
