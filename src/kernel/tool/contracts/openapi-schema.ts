import { type JsonSchema, pointerSegment } from "../../base/json.ts";
import type { Reader } from "./reader.ts";

const DEPTH_MAX = 64;

/**
 * Converts the subset of OpenAPI 3.0 of Gemini's `parameters` to JSON Schema: types in capitals, `nullable`, and sizes
 * as strings of digits.
 */
export function fromOpenApi(read: Reader, schema: unknown, pointer: string, depth = 0): JsonSchema {
  if (depth > DEPTH_MAX) read.fail(pointer, `is nested deeper than ${DEPTH_MAX} levels`);
  const { type, nullable, properties, items, anyOf, ...rest } = read.object(schema, pointer);
  const inner = (value: unknown, at: string) => fromOpenApi(read, value, pointer + at, depth + 1);
  const kind = type === undefined ? {} : { type: read.string(type, `${pointer}/type`).toLowerCase() };
  return {
    ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, sizeOf(key, value)])),
    ...(nullable === true && kind.type !== undefined ? { type: [kind.type, "null"] } : kind),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(read.object(properties, `${pointer}/properties`)).map(([name, value]) => [
              name,
              inner(value, `/properties${pointerSegment(name)}`),
            ]),
          ),
        }),
    ...(items === undefined ? {} : { items: inner(items, "/items") }),
    ...(anyOf === undefined
      ? {}
      : { anyOf: read.list(anyOf, `${pointer}/anyOf`).map((each, at) => inner(each, `/anyOf/${at}`)) }),
  };
}

/** Gemini's API writes whole numbers as strings: `"maxItems": "5"`. */
function sizeOf(key: string, value: unknown): unknown {
  return /^(?:min|max)/.test(key) && typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
}
