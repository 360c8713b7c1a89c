import { describe, expect, test } from "vitest";
import { spec } from "../../../fixtures/tools/run-script.ts";
import type { JsonSchema } from "../../../src/base/json.ts";
import { mcp } from "../../../src/tool/contracts/index.ts";

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
