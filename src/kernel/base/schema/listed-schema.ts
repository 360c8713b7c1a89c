import { digitsOf, mayHaveLongInteger, parseWritten } from "../exact-json.ts";
import { writeJson } from "../json-writer.ts";
import { frozen, type JsonSchema } from "../json.ts";
import { schemaNodes } from "./schema-nodes.ts";

/** Keywords whose value is a number in each dialect: other validators refuse anything else there. */
const NUMBERS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minContains",
  "maxContains",
  "minProperties",
  "maxProperties",
];

/**
 * The listed form of a schema, for other validators, models and forms. Its values, such as those of `enum`, keep the
 * digits of long integers; its bounds are the nearest numbers. The tool's own checks compare with the exact bounds.
 */
export function listedSchema(schema: JsonSchema): JsonSchema {
  const text = writeJson(schema) ?? "true";
  const listed = parseWritten(text) as JsonSchema;
  for (const { node } of mayHaveLongInteger(text) ? schemaNodes(listed) : []) {
    for (const keyword of NUMBERS) if (Object.hasOwn(node, keyword)) node[keyword] = nearestNumber(node[keyword]);
  }
  return frozen(listed);
}

function nearestNumber(value: unknown): unknown {
  const digits = typeof value === "object" && value !== null ? digitsOf(value) : null;
  if (digits === null) return value;
  // JSON has no infinite numbers.
  return Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, Number(digits)));
}
