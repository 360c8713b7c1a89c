import { digitsOf } from "../../../kernel/base/exact-json.ts";
import { patternOf } from "../../../kernel/base/schema/check-runtime.ts";

/** Sender of the values of a schema: the caller, or the server. */
export type Side = "input" | "output";

/** Keywords that hold schemas. `head`: of the same value as the schema that they are in. */
export const SCHEMA_KEYWORDS: ReadonlyMap<string, "one" | "list" | "map"> = new Map<string, "one" | "list" | "map">([
  ...["additionalProperties", "items", "not", "if", "then", "else", "contains", "propertyNames"].map(each("one")),
  ...["unevaluatedItems", "unevaluatedProperties"].map(each("one")),
  ...["allOf", "anyOf", "oneOf", "prefixItems"].map(each("list")),
  ...["properties", "patternProperties", "dependentSchemas"].map(each("map")),
]);
/** Keywords whose schemas apply to the same value. */
export const SAME_VALUE = new Set(["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"]);

/** Keywords of answers: the form of a value, without rules that servers often break. */
const OUTPUT = new Set(
  ["type", "enum", "const", "properties", "required", "items", "prefixItems", "additionalProperties"].concat([
    "allOf",
    "anyOf",
    "oneOf",
  ]),
);

const TYPES = new Set(["string", "number", "integer", "boolean", "array", "object", "null"]);
const ENUM_MAX = 1_000;
const TEXT_MAX = 1_000;

/** Other keywords, with checks of their values. A value of another form is left out: the server checks it. */
const PLAIN: ReadonlyMap<string, (value: unknown) => unknown> = new Map([
  ["type", typeOf],
  ["enum", (value: unknown) => (isEnum(value) ? value : undefined)],
  ["const", (value: unknown) => (isScalar(value) ? value : undefined)],
  ["required", (value: unknown) => (Array.isArray(value) ? [...new Set(value.filter(isText))] : undefined)],
  ["format", (value: unknown) => (isText(value) ? value : undefined)],
  ["pattern", (value: unknown) => (isText(value) && isPattern(value) ? value : undefined)],
  ["uniqueItems", (value: unknown) => (typeof value === "boolean" ? value : undefined)],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"].map(each(number)),
  ["multipleOf", (value: unknown) => (typeof value === "number" && value > 0 ? value : undefined)],
  ...["minLength", "maxLength", "minItems", "maxItems"].map(each(count)),
  ...["minProperties", "maxProperties", "minContains", "maxContains"].map(each(count)),
]);

/** Whether a keyword has a meaning for that side. */
export function isKeywordOf(side: Side, keyword: string, value: unknown): boolean {
  // Of formats, only those of integers beyond a number's range are useful in declarations.
  return side === "input" || OUTPUT.has(keyword) || (keyword === "format" && (value === "int64" || value === "uint64"));
}

/** Whether a keyword contains no schema, and is part of a checked form. */
export function isPlainKeyword(keyword: string): boolean {
  return PLAIN.has(keyword);
}

/** The value of a keyword without a schema; `undefined` if it is unusable. */
export function plainValue(keyword: string, value: unknown): unknown {
  return PLAIN.get(keyword)?.(value);
}

/** Keywords of OpenAPI 3.0 and draft-04, in the words of 2020-12. */
export function modernized(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const changes: [string, unknown][] = [];
  if (exclusiveMinimum === true) changes.push(["exclusiveMinimum", minimum], ["minimum", undefined]);
  if (exclusiveMaximum === true) changes.push(["exclusiveMaximum", maximum], ["maximum", undefined]);
  if (schema["nullable"] === true && !isCombined(schema)) {
    const { type, enum: values } = schema;
    if (type !== undefined) changes.push(["type", [type, "null"].flat()]);
    if (Array.isArray(values) && !values.includes(null)) changes.push(["enum", [...(values as unknown[]), null]]);
    if (schema["const"] !== undefined) changes.push(["const", undefined], ["enum", [schema["const"], null]]);
  }
  return changes.length === 0 ? schema : { ...schema, ...Object.fromEntries(changes) };
}

/** A discriminator often selects one of them; they exclude each other only in careful documents. */
export function withAnyOf(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!Object.hasOwn(schema, "oneOf")) return schema;
  return { ...schema, oneOf: undefined, ...Object.fromEntries(oneOfAsAny(schema)) };
}

function oneOfAsAny({ oneOf, anyOf, allOf }: Readonly<Record<string, unknown>>): [string, unknown][] {
  if (anyOf === undefined) return [["anyOf", oneOf]];
  return [["allOf", [...(Array.isArray(allOf) ? (allOf as unknown[]) : []), { anyOf: oneOf }]]];
}

/** Whether `null` has to be allowed beside the schema, because a part of it would refuse it. */
export function isNullBeside(schema: Readonly<Record<string, unknown>>): boolean {
  return schema["nullable"] === true && isCombined(schema);
}

function isCombined(schema: object): boolean {
  return ["$ref", "allOf", "anyOf", "oneOf"].some((keyword) => Object.hasOwn(schema, keyword));
}

function typeOf(value: unknown): unknown {
  const types = [value].flat().filter((one) => typeof one === "string" && TYPES.has(one));
  return types.length < 2 ? types[0] : [...new Set(types)];
}

function isEnum(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0 && value.length <= ENUM_MAX && value.every(isScalar);
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value === "boolean" || number(value) !== undefined || isText(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= TEXT_MAX;
}

export function isPattern(pattern: string): boolean {
  try {
    return pattern.length <= TEXT_MAX && patternOf(pattern, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

function number(value: unknown): unknown {
  return Number.isFinite(value) || isLongInteger(value) ? value : undefined;
}

/** Whether a value is an integer that keeps the digits of the document. */
export function isLongInteger(value: unknown): boolean {
  return typeof value === "object" && value !== null && digitsOf(value) !== null;
}

function count(value: unknown): unknown {
  return (Number.isInteger(value) || isLongInteger(value)) && Number(JSON.stringify(value)) >= 0 ? value : undefined;
}

function each<const Value>(value: Value): (keyword: string) => [string, Value] {
  return (keyword) => [keyword, value];
}
