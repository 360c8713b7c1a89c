/** Arbitrary schemas, tools and values. */
import fc from "fast-check";
import type { DeclaredTool } from "../../../../src/kernel/tool/declarations/declare-tools.ts";

type Json = Record<string, unknown>;

/** Texts that try to leave the place where they are written. */
const HOSTILE_TEXT = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc
    .array(
      fc.constantFrom(
        "*/",
        "/*",
        "//",
        "@ts-ignore",
        "@ts-expect-error",
        "@internal",
        "\n",
        "\r",
        "\u2028",
        "\u2029",
        "`",
        "${",
        '"',
        "'",
        "\\",
        "}",
        "{",
        ";",
        "export declare const x: 1;",
        "</script>",
        "\u202e",
        "\ud800",
        "\0",
        "#",
        "?",
        "[",
        "]",
        " ",
        "a",
        "__proto__",
        "constructor",
        "new",
        "default",
      ),
      { maxLength: 6 },
    )
    .map((parts) => parts.join("")),
);

const POINTERS = fc.constantFrom(
  "#",
  "#/$defs/a",
  "#/$defs/b",
  "#/$defs/c",
  "#/properties/a",
  "#/$defs/a/properties/x",
  "#/nowhere",
  "#a",
  "other.json",
  "#/%",
  "",
  "#/$defs",
);

/** Schemas with keywords of any value, and names and texts of strangers. */
const HOSTILE_SCHEMAS = fc.letrec<{ schema: unknown; any: unknown; object: Json }>((tie) => ({
  any: fc.oneof({ maxDepth: 3 }, fc.jsonValue({ maxDepth: 2 }), HOSTILE_TEXT, tie("schema")),
  object: fc.dictionary(HOSTILE_TEXT, tie("schema"), { maxKeys: 3 }),
  schema: fc.oneof(
    { maxDepth: 4, depthIdentifier: "schema" },
    fc.boolean(),
    fc.record(
      {
        type: fc.oneof(
          fc.constantFrom("string", "integer", "object", "array", "null", "boolean", "any"),
          fc.array(fc.constantFrom("string", "object", "null", "array"), { maxLength: 3 }),
        ),
        description: HOSTILE_TEXT,
        default: tie("any"),
        const: tie("any"),
        enum: fc.array(fc.oneof(HOSTILE_TEXT, fc.jsonValue({ maxDepth: 2 })), { maxLength: 4 }),
        $ref: POINTERS,
        $id: HOSTILE_TEXT,
        nullable: fc.boolean(),
        properties: tie("object"),
        patternProperties: tie("object"),
        $defs: fc.record({ a: tie("schema"), b: tie("schema"), c: tie("schema") }, { requiredKeys: [] }),
        required: fc.array(HOSTILE_TEXT, { maxLength: 3 }),
        additionalProperties: tie("schema"),
        items: fc.oneof(tie("schema"), fc.array(tie("schema"), { maxLength: 3 })),
        prefixItems: fc.array(tie("schema"), { maxLength: 3 }),
        additionalItems: tie("schema"),
        minItems: fc.oneof(fc.integer({ min: -1, max: 4 }), fc.double()),
        allOf: fc.array(tie("schema"), { maxLength: 3 }),
        anyOf: fc.array(tie("schema"), { maxLength: 3 }),
        oneOf: fc.oneof(fc.array(tie("schema"), { maxLength: 3 }), tie("any")),
        not: tie("schema"),
      },
      { requiredKeys: [] },
    ),
  ),
}));

export const HOSTILE_TOOLS: fc.Arbitrary<DeclaredTool[]> = fc.array(
  fc.record({
    name: fc.oneof(HOSTILE_TEXT, fc.constantFrom("a-b", "a_b", "a b", "AB", "AInputX", "a")),
    description: HOSTILE_TEXT,
    inputSchema: HOSTILE_SCHEMAS.schema,
    outputSchema: fc.oneof(HOSTILE_SCHEMAS.schema, fc.constant(null)),
  }) as fc.Arbitrary<DeclaredTool>,
  { maxLength: 6 },
);

const KEYS = ["a", "b", "c"] as const;
const LITERALS = fc.constantFrom<unknown>(null, true, 1, "x", "y", { a: 1 }, ["x"]);

/** Values of JSON. Each object that is not empty has `a`: TypeScript refuses one that shares nothing with the type. */
export const VALUES: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    LITERALS,
    fc.record({ a: tie("value"), b: tie("value"), c: tie("value") }, { requiredKeys: ["a"] }),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.constant({}),
  ),
})).value;

const DIALECT = { $schema: "https://json-schema.org/draft/2020-12/schema" };

/** Schemas as they are meant to be written, that take many of the values of `VALUES`. */
export const SCHEMAS: fc.Arbitrary<Json> = fc
  .letrec<{ schema: Json; properties: Json }>((tie) => ({
    properties: fc.record({ a: tie("schema"), b: tie("schema"), c: tie("schema") }, { requiredKeys: ["a"] }),
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.record({ type: fc.constantFrom("string", "integer", "object", "array", "null", "boolean") }),
      fc.record({ type: fc.subarray(["string", "number", "object", "array", "null"], { minLength: 1 }) }),
      fc.record({ enum: fc.array(LITERALS, { minLength: 1, maxLength: 4 }) }),
      fc.record({ const: LITERALS }),
      fc.record({ $ref: fc.constantFrom("#/$defs/one", "#/$defs/two", "#") }),
      fc.record(
        {
          type: fc.constantFrom("object", ["object", "null"], ["object", "string"]),
          properties: tie("properties"),
          required: fc.subarray([...KEYS]),
          additionalProperties: fc.oneof(fc.boolean(), tie("schema")),
          patternProperties: fc.record({ "^[bc]$": tie("schema") }),
        },
        { requiredKeys: ["type"] },
      ),
      fc.record(
        { properties: tie("properties"), required: fc.subarray([...KEYS]), default: LITERALS },
        { requiredKeys: ["properties"] },
      ),
      fc.record(
        {
          type: fc.constant("array"),
          items: fc.oneof(fc.boolean(), tie("schema")),
          prefixItems: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
          minItems: fc.integer({ min: 0, max: 3 }),
        },
        { requiredKeys: ["type"] },
      ),
      ...(["anyOf", "oneOf", "allOf"] as const).map((name) =>
        fc
          .tuple(fc.array(tie("schema"), { minLength: 1, maxLength: 3 }), tie("schema"), fc.boolean())
          .map(([of, more, both]) => ({ ...(both ? more : {}), [name]: of })),
      ),
    ),
  }))
  .schema.chain((schema) => definitions(schema));

/** A schema with the definitions to which it refers. */
function definitions(schema: Json): fc.Arbitrary<Json> {
  const one = { type: "object", properties: { a: { $ref: "#/$defs/one" }, b: { $ref: "#/$defs/two" } } };
  const two = { anyOf: [{ type: "string" }, { $ref: "#/$defs/one" }, { type: "array", items: { $ref: "#" } }] };
  return fc.constant({ ...DIALECT, ...schema, $defs: { one, two } });
}
