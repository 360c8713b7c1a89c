import { isObject, type JsonSchema } from "../../base/json.ts";

/** A schema that says of itself that it is an object's, as models' APIs demand of a tool's parameters. */
export type ObjectSchema = { type: "object"; [key: string]: unknown };

/** The schema of a tool's arguments in that form. Arguments are objects whatever the schema says, so it means the same. */
export function objectSchema(schema: JsonSchema): ObjectSchema {
  if (schema === true) return { type: "object" };
  if (schema === false) return { type: "object", not: {} };
  return { ...schema, type: "object" };
}

/** Keywords with one schema, a list of schemas, or schemas by name. Text lists in `dependencies` stay as they are. */
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
/** Boolean in every dialect, and expected to be: `additionalProperties: false` is what clients look for. */
const EITHER = new Set(["additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems"]);

/** A copy of a schema whose boolean subschemas are objects, for readers that know no others: `true` is `{}`. */
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
