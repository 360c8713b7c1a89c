import { isObject, type JsonSchema } from "../../base/json.ts";

/** A schema with `type: "object"`, as models' APIs demand of a tool's parameters. */
export type ObjectSchema = { type: "object"; [key: string]: unknown };

/**
 * Converts a schema of a tool's arguments to that form. The meaning is the same, because arguments are always objects.
 */
export function objectSchema(schema: JsonSchema): ObjectSchema {
  if (schema === true) return { type: "object" };
  if (schema === false) return { type: "object", not: {} };
  return { ...schema, type: "object" };
}

/**
 * Keywords with one schema, a list of schemas, or a map of schemas. Lists of texts in `dependencies` stay unchanged.
 */
const SCHEMAS = new Set(["items", "contains", "propertyNames", "not", "if", "then", "else", "contentSchema"]);
const SCHEMA_LISTS = new Set(["items", "prefixItems", "allOf", "anyOf", "oneOf"]);
const SCHEMA_MAPS = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);
/** Keywords that may be boolean in every dialect; clients look for `additionalProperties: false`. */
const EITHER = new Set(["additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems"]);

/**
 * Copies a schema and replaces boolean subschemas by objects, for readers that support only these: `true` becomes `{}`.
 */
export function withoutBooleanSchemas<Schema extends object>(schema: Schema): Schema {
  const entries = Object.entries(schema).map(([keyword, value]: [string, unknown]): [string, unknown] => {
    if (Array.isArray(value)) return [keyword, SCHEMA_LISTS.has(keyword) ? value.map(asObject) : value];
    if (SCHEMA_MAPS.has(keyword) && isObject(value)) {
      return [keyword, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, asObject(one)]))];
    }
    if (EITHER.has(keyword) && typeof value === "boolean") return [keyword, value];
    return [keyword, SCHEMAS.has(keyword) || EITHER.has(keyword) ? asObject(value) : value];
  });
  return Object.fromEntries(entries) as Schema;
}

function asObject(schema: unknown): unknown {
  if (typeof schema === "boolean") return schema ? {} : { not: {} };
  return isObject(schema) ? withoutBooleanSchemas(schema) : schema;
}
