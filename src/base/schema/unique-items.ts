import type { FuncKeywordDefinition, SchemaValidateFunction } from "ajv";
import type { WorkMeter } from "./work-meter.ts";

/** Serializing one value takes about as long as checking this many keywords. */
const STEPS = 10;

/**
 * `uniqueItems` in linear time: ajv's own compares every item with every other, which takes minutes for a caller's
 * array of a hundred thousand empty objects.
 */
export function uniqueItems(meter: WorkMeter): FuncKeywordDefinition {
  const validate: SchemaValidateFunction = (wanted: boolean, items: readonly unknown[]) => {
    if (!wanted) return true;
    const seen = new Map<string, number>();
    for (const [index, item] of items.entries()) {
      const text = canonical(item, meter);
      const first = seen.get(text);
      if (first !== undefined) {
        validate.errors = [{ keyword: "uniqueItems", params: { i: index, j: first } }];
        return false;
      }
      seen.set(text, index);
    }
    return true;
  };
  return { keyword: "uniqueItems", type: "array", schemaType: "boolean", errors: true, validate };
}

/** A canonical text: equal exactly for values that JSON Schema considers equal. */
function canonical(value: unknown, meter: WorkMeter): string {
  meter.spend(typeof value === "string" ? STEPS + (value.length >> 2) : STEPS);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, meter)).join()}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item, meter)}`).join()}}`;
}
