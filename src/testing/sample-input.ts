import { ToolParameterError } from "../contrib/xaibo/errors.ts";
import { parameterCheck } from "../contrib/xaibo/parameter-check.ts";
import { isObject, type JsonSchema } from "../kernel/base/json.ts";

type Fields = { readonly [key: string]: unknown };
type Input = Readonly<Record<string, unknown>>;

/** Maximum nesting depth of a schema that is followed. */
const DEPTH_MAX = 8;

/**
 * Generates valid arguments from a schema's types, defaults, examples and minimum sizes; `null` if they do not fit it.
 */
export function sampleInput(schema: JsonSchema): Input | null {
  const sample = sampleOf(schema, 0);
  return isObject(sample) && isFitting(schema, sample) ? sample : null;
}

/** Generates arguments that violate a schema, or `null` if anything fits. */
export function wrongInput(schema: JsonSchema): Input | null {
  const sample = sampleInput(schema) ?? {};
  const names = Object.keys(fieldsOf(fieldsOf(schema)["properties"]));
  const without = names.map((name) => Object.fromEntries(Object.entries(sample).filter(([key]) => key !== name)));
  const replaced = names.flatMap((name) => [null, 5, "\u0000", [], {}].map((value) => ({ ...sample, [name]: value })));
  const more = { ...sample, "\u0000 no such parameter": true };
  return [{}, ...without, ...replaced, more].find((input) => !isFitting(schema, input)) ?? null;
}

function isFitting(schema: JsonSchema, input: Input): boolean {
  try {
    parameterCheck(schema)(input);
    return true;
  } catch (error) {
    if (error instanceof ToolParameterError) return false;
    throw error;
  }
}

function sampleOf(schema: unknown, depth: number): unknown {
  const fields = fieldsOf(schema);
  const { examples, default: fallback, const: only, enum: values, type, anyOf, oneOf, allOf } = fields;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if (fallback !== undefined) return fallback;
  if (only !== undefined) return only;
  if (Array.isArray(values) && values.length > 0) return values[0];
  const [branch]: readonly unknown[] = [anyOf, oneOf, allOf].find((list) => Array.isArray(list)) ?? [];
  if (branch !== undefined && type === undefined && depth < DEPTH_MAX) return sampleOf(branch, depth + 1);
  const [named]: readonly unknown[] = Array.isArray(type) ? type : [type];
  switch (named ?? (fields["properties"] === undefined && depth > 0 ? "string" : "object")) {
    case "string":
      return "x".repeat(Math.min(countOf(fields["minLength"], 1), 10_000));
    case "number":
    case "integer":
      return numberOf(fields);
    case "boolean":
      return false;
    case "array":
      return Array.from({ length: Math.min(countOf(fields["minItems"], 0), 100) }, () => inner(fields["items"], depth));
    case "object":
      return objectOf(fields, depth);
    default:
      return null;
  }
}

function objectOf(fields: Fields, depth: number): unknown {
  const { properties, required } = fields;
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  return Object.fromEntries(names.map((name) => [name, inner(fieldsOf(properties)[name], depth)]));
}

function inner(schema: unknown, depth: number): unknown {
  return depth < DEPTH_MAX ? sampleOf(schema, depth + 1) : null;
}

function numberOf({ minimum, exclusiveMinimum, maximum, multipleOf }: Fields): number {
  if (typeof minimum === "number") return minimum;
  if (typeof exclusiveMinimum === "number") return exclusiveMinimum + 1;
  if (typeof multipleOf === "number") return multipleOf;
  return typeof maximum === "number" ? Math.min(maximum, 1) : 1;
}

function countOf(value: unknown, fallback: number): number {
  return typeof value === "number" && value >= 0 ? value : fallback;
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}
