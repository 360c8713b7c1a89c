import { isObject } from "../../base/json.ts";

/** The keywords that OpenAI supports in strict mode. */
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    "type title description properties required additionalProperties items anyOf enum const $ref $defs pattern format " +
    "multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems"
  ).split(" "),
);
const FORMATS: ReadonlySet<unknown> = new Set("date-time time date duration email hostname ipv4 ipv6 uuid".split(" "));
const DEPTH_MAX = 10;
const PROPERTIES_MAX = 5_000;
const ENUM_MAX = 1_000;

/**
 * Whether OpenAI accepts a tool's parameters as `strict`: every object is closed and requires all its properties, and
 * only the supported subset of JSON Schema is used.
 */
export function isStrict(schema: Readonly<Record<string, unknown>>): boolean {
  const count = { properties: 0, values: 0 };
  if (schema["type"] !== "object" || schema["anyOf"] !== undefined) return false;
  return fits(schema, 0, count) && count.properties <= PROPERTIES_MAX && count.values <= ENUM_MAX;
}

function fits(schema: unknown, depth: number, count: { properties: number; values: number }): boolean {
  if (!isObject(schema) || depth > DEPTH_MAX) return false;
  if (!Object.keys(schema).every((key) => KEYWORDS.has(key))) return false;
  const { type, properties, items, anyOf, $defs, enum: values, format } = schema;
  if (format !== undefined && !FORMATS.has(format)) return false;
  if (Array.isArray(values)) count.values += values.length;
  const isObjects = type === "object" || (Array.isArray(type) && type.includes("object")) || properties !== undefined;
  if (isObjects && !isClosed(schema)) return false;
  if (isObject(properties)) count.properties += Object.keys(properties).length;
  const children = [
    ...(isObject(properties) ? Object.values(properties) : []),
    ...(isObject($defs) ? Object.values($defs) : []),
    ...(Array.isArray(anyOf) ? anyOf : []),
    ...(items === undefined ? [] : [items]),
  ];
  return children.every((child) => fits(child, depth + 1, count));
}

function isClosed({ properties = {}, required = [], additionalProperties }: Record<string, unknown>): boolean {
  if (additionalProperties !== false || !isObject(properties) || !Array.isArray(required)) return false;
  const named = new Set<unknown>(required);
  return Object.keys(properties).every((name) => named.has(name));
}
