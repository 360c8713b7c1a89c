import type { JsonSchema } from "../../kernel/base/json.ts";
import { propertiesOf, requiredOf } from "./names.ts";

const DEPTH_MAX = 8;
const LENGTH_MAX = 1_000;
/** Maximum number of values in a sample: a schema may nest lists in lists. */
const VALUES_MAX = 1_000;
/** Examples of common formats. */
const FORMATS: ReadonlyMap<unknown, string> = new Map([
  ["date", "2026-01-02"],
  ["date-time", "2026-01-02T03:04:05Z"],
  ["time", "03:04:05Z"],
  ["email", "ada@example.com"],
  ["uri", "https://example.com/"],
  ["url", "https://example.com/"],
  ["uuid", "00000000-0000-4000-8000-000000000000"],
]);

/** Generates arguments that probably fit a schema: only required properties. The caller validates them. */
export function sampleArguments(schema: JsonSchema): Record<string, unknown> {
  return new Sampler().object(schema, 0);
}

class Sampler {
  #left = VALUES_MAX;

  object(schema: JsonSchema, depth: number): Record<string, unknown> {
    const properties = propertiesOf(schema);
    const sample = new Map<string, unknown>();
    for (const name of requiredOf(schema))
      if (this.#left > 0) sample.set(name, this.#value(properties.get(name), depth + 1));
    return Object.fromEntries(sample);
  }

  #value(schema: unknown, depth: number): unknown {
    this.#left--;
    if (typeof schema !== "object" || schema === null || depth > DEPTH_MAX) return "x";
    const given = new Map<string, unknown>(Object.entries(schema));
    for (const key of ["const", "default"]) if (given.has(key)) return given.get(key);
    for (const key of ["examples", "enum"]) {
      const values = given.get(key);
      if (Array.isArray(values) && values.length > 0) return values[0];
    }
    for (const key of ["anyOf", "oneOf"]) {
      const choices = given.get(key);
      if (Array.isArray(choices)) return this.#value(choices[0], depth + 1);
    }
    const type = given.get("type");
    return this.#ofType(Array.isArray(type) ? type[0] : type, given, depth);
  }

  #ofType(type: unknown, given: ReadonlyMap<string, unknown>, depth: number): unknown {
    switch (type) {
      case "object":
        return this.object(Object.fromEntries(given), depth);
      case "array":
        return this.#list(given.get("items"), numberIn(given, ["minItems"], 0), depth);
      case "integer":
      case "number":
        return numberIn(given, ["minimum", "maximum"], numberIn(given, ["exclusiveMinimum"], 0) + 1);
      case "boolean":
        return true;
      case "null":
        return null;
      default:
        return FORMATS.get(given.get("format")) ?? "x".repeat(Math.max(1, numberIn(given, ["minLength"], 1)));
    }
  }

  #list(items: unknown, length: number, depth: number): readonly unknown[] {
    const list: unknown[] = [];
    while (list.length < length && this.#left > 0) list.push(this.#value(items, depth + 1));
    return list;
  }
}

/** First numeric value among these keys, clamped to ±1,000. */
function numberIn(schema: ReadonlyMap<string, unknown>, keys: readonly string[], otherwise: number): number {
  const found = keys.map((key) => schema.get(key)).find((value) => typeof value === "number");
  return typeof found === "number" ? Math.max(-LENGTH_MAX, Math.min(LENGTH_MAX, found)) : otherwise;
}
