import { describe, expect, test } from "vitest";
import { spec } from "../../../../fixtures/tools/run-script.ts";
import type { JsonSchema } from "../../../../src/kernel/base/json.ts";
import { mcp } from "../../../../src/standard/contracts.ts";
import { mcpSchemas } from "../../../../src/kernel/tool/contracts/mcp-schema.ts";

const TOOL = { name: "tool", description: "A tool.", inputSchema: { type: "object" } };

/** The demand of the official SDK's first version: a schema is an object, and so is each of its properties' schemas. */
function isReadable(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  const { type, properties = {} } = schema as { readonly type?: unknown; readonly properties?: object };
  return type === "object" && Object.values(properties).every((one) => typeof one === "object" && one !== null);
}

describe("the schemas of a tool, written for MCP", () => {
  test("can be read by clients that know no boolean schemas", () => {
    const { inputSchema, outputSchema } = mcp.writeTool(spec);
    expect(isReadable(spec.outputSchema)).toBe(false);
    expect([inputSchema, outputSchema].map(isReadable)).toEqual([true, true]);
    expect(outputSchema).toEqual({
      ...spec.outputSchema,
      properties: { ...spec.outputSchema.properties, value: {} },
    });
    expect(spec.outputSchema.properties.value).toBe(true);
  });

  test("have objects at every depth where a schema stands, and keep booleans that are values", () => {
    const schema: JsonSchema = {
      type: "object",
      properties: {
        list: { type: "array", prefixItems: [true, { not: false }], items: false, uniqueItems: true },
        any: { anyOf: [true, { properties: { inner: false } }], default: true, const: false, enum: [true] },
        open: { patternProperties: { "^x": true }, additionalProperties: { items: [false] } },
      },
      dependencies: { list: ["any"], any: true },
      $defs: { nothing: false },
      if: true,
      additionalProperties: false,
    };
    const before = structuredClone(schema);
    expect(mcp.writeTool({ ...TOOL, outputSchema: schema }).outputSchema).toEqual({
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: {
        list: { type: "array", prefixItems: [{}, { not: { not: {} } }], items: { not: {} }, uniqueItems: true },
        any: { anyOf: [{}, { properties: { inner: { not: {} } } }], default: true, const: false, enum: [true] },
        open: { patternProperties: { "^x": {} }, additionalProperties: { items: [{ not: {} }] } },
      },
      dependencies: { list: ["any"], any: {} },
      $defs: { nothing: { not: {} } },
      if: {},
      additionalProperties: false,
    });
    expect(schema).toEqual(before);
    expect(mcp.writeTool({ ...TOOL, inputSchema: { properties: { all: true } } }).inputSchema).toEqual({
      type: "object",
      properties: { all: {} },
    });
  });
});

describe("an output schema", () => {
  const LATER = "https://json-schema.org/draft/2020-12/schema";
  const pair = { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] };
  const tool = (member: object, more: object = {}): JsonSchema => ({ type: "object", properties: { member }, ...more });

  test("that clients misread is written in an equivalent form where there is one, and the place is told", () => {
    const schema = tool({ ...pair, items: false }, { $schema: LATER, $id: "https://example.com/a" });
    const { outputSchema, rewrites } = mcpSchemas({ type: "object" }, schema);
    expect(outputSchema).toEqual(tool({ ...pair, maxItems: 2 }, { $schema: LATER }));
    expect(rewrites).toEqual([
      { pointer: "/outputSchema/properties/member/items", reason: "maxItems instead of false" },
      {
        pointer: "/outputSchema/$id",
        reason: "it is left out, because clients keep the schemas of all tools together",
      },
    ]);
  });

  test("keeps a maximum length that is shorter than its list", () => {
    const { outputSchema } = mcpSchemas(true, tool({ ...pair, items: false, maxItems: 1 }, { $schema: LATER }));
    expect(outputSchema).toEqual(tool({ ...pair, maxItems: 1 }, { $schema: LATER }));
  });

  test.each<[what: string, member: object, more?: object]>([
    ["an $id within", { $id: "other" }],
    ["a reference to the meta-schema", { $ref: LATER }],
    ["items beside prefixItems", { ...pair, items: { type: "null" } }],
    ["minContains of 0", { contains: {}, minContains: 0 }],
    ["a pattern that is not one of Unicode mode", { pattern: "\\-" }],
    ["such a pattern for names", { patternProperties: { "\\-": {} } }],
    ["an optional property that all objects have", { properties: { toString: { type: "string" } } }],
    ["a later keyword within not", { not: { unevaluatedProperties: false } }],
  ])("is replaced by its type, its title and its description where it has %s", (_what, member, more = {}) => {
    const schema = tool(member, { $schema: LATER, title: "A", description: "B", ...more });
    const { outputSchema, rewrites } = mcpSchemas({ type: "object" }, schema);
    expect(outputSchema).toEqual({ type: "object", title: "A", description: "B" });
    expect(rewrites).toEqual([
      { pointer: "/outputSchema", reason: expect.stringMatching(/^clients get \{"type":"object"\}: /) },
    ]);
  });

  test.each<[what: string, schema: JsonSchema]>([
    ["of draft 2020-12", tool(pair, { $schema: LATER })],
    ["with a required property that all objects have", tool({ properties: { toString: {} }, required: ["toString"] })],
    ["with a property that is named as a keyword", tool({ properties: { $id: {}, pattern: {}, prefixItems: {} } })],
    ["with references into itself", tool({ $ref: "#/properties/member" }, { $defs: { a: { $anchor: "a" } } })],
  ])("stays as it is where it is one %s", (_what, schema) => {
    expect(mcpSchemas({ type: "object" }, schema)).toEqual({
      inputSchema: { type: "object" },
      outputSchema: schema,
      rewrites: [],
    });
  });

  test("names its dialect where clients assume another one", () => {
    const { outputSchema, rewrites } = mcpSchemas({ type: "object" }, tool({ items: [{ type: "string" }] }));
    expect(outputSchema).toMatchObject({ $schema: "http://json-schema.org/draft-07/schema#" });
    expect(rewrites.map(({ pointer }) => pointer)).toEqual(["/outputSchema/$schema"]);
  });

  test("has at most twenty places", () => {
    const properties = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`p${index}`, true]));
    const { rewrites } = mcpSchemas({ type: "object", properties }, { type: "object", properties });
    expect(rewrites).toHaveLength(20);
  });
});
