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

/** Whether a schema has no keyword, so that it refuses nothing. */
export function isEmptySchema(schema: unknown): boolean {
  return schema === true || (isObject(schema) && Object.keys(schema).length === 0);
}

/** Whether a schema is `false`, or the equivalent object. */
export function refusesAll(schema: unknown): boolean {
  return schema === false || (isObject(schema) && Object.keys(schema).length === 1 && isEmptySchema(schema["not"]));
}
