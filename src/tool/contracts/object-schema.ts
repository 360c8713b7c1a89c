import type { JsonSchema } from "../../base/json.ts";

/** A schema that says of itself that it is an object's, as models' APIs demand of a tool's parameters. */
export type ObjectSchema = { type: "object"; [key: string]: unknown };

/** The schema of a tool's arguments in that form. Arguments are objects whatever the schema says, so it means the same. */
export function objectSchema(schema: JsonSchema): ObjectSchema {
  if (schema === true) return { type: "object" };
  if (schema === false) return { type: "object", not: {} };
  return { ...schema, type: "object" };
}
