import type { ErrorObject } from "ajv";
import { pointerSegment } from "../json.ts";
import { NUMBER_TYPE, OWN } from "./long-integers.ts";

/** One violation of a schema, worded so that a language model can fix its call. */
export interface Violation {
  /** JSON pointer to the offending or missing value. */
  readonly pointer: string;
  /** The violated keyword of the schema. */
  readonly keyword: string;
  /** Expected value, in words: `integer`, `at most 10 characters`. */
  readonly expected: string;
  /** Actual value, shortened: `string "abc"`, `missing`. */
  readonly received: string;
  /** The whole violation in one sentence. */
  readonly message: string;
}

const MAX_VIOLATIONS = 50;
const MAX_TEXT = 80;
const MAX_EXPECTED = 300;
const MAX_POINTER = 500;

/** Converts ajv's errors to violations, at most 50. */
export function toViolations(errors: readonly ErrorObject[]): readonly Violation[] {
  return errors.slice(0, MAX_VIOLATIONS).map(toViolation);
}

/** A violation of the whole value by a bound of the checker rather than a keyword. */
export function boundViolation(keyword: string, expected: string): Violation {
  const message = `the value must be ${expected}`;
  return { pointer: "", keyword, expected, received: "a value that is not", message };
}

/** A summary for an error's message: the first five violations and the number of the others. */
export function describeViolations(violations: readonly Violation[]): string {
  const shown = violations.slice(0, 5).map((violation) => violation.message);
  const more = violations.length - shown.length;
  return shown.join("; ") + (more > 0 ? `; and ${more} more` : "");
}

/** The violation without the actual value, for values that may be secrets. */
export function unseen(violation: Violation): Violation {
  const { message, received } = violation;
  return { ...violation, received: "a value", message: message.replace(`, but got ${received}`, "") };
}

function toViolation(error: ErrorObject): Violation {
  const keyword = error.keyword.replace(OWN, "");
  const missing = text(error.params["missingProperty"]);
  const extra = text(error.params["additionalProperty"] ?? error.params["unevaluatedProperty"]);
  const named = missing ?? extra ?? error.propertyName ?? text(error.params["propertyName"]);
  const pointer = cut(error.instancePath + (named === undefined ? "" : pointerSegment(named)), MAX_POINTER);
  const place = pointer === "" ? "the value" : pointer;
  const expected = cut(expectation(error), MAX_EXPECTED);
  if (missing !== undefined) {
    const message = `${place} is required, but is missing${expected === "a value" ? "" : `; it must be ${expected}`}`;
    return { pointer, keyword, expected, received: "missing", message };
  }
  const value: unknown = extra === undefined ? error.data : property(error.data, extra);
  if (extra !== undefined) {
    const received = describeValue(value);
    return { pointer, keyword, expected, received, message: `${place} is not allowed; expected ${expected}` };
  }
  // Property names are strings without a pointer.
  if (error.propertyName !== undefined || keyword === "propertyNames") {
    const received = `the name ${quote(named ?? "")}`;
    const message = `the name of ${place} must be ${expected}`;
    return { pointer, keyword, expected, received, message };
  }
  const received = describeValue(value);
  const names = keyword === "oneOf" ? oneNamesOf(error.schema) : null;
  const message = names === null ? `${place} must be ${expected}, but got ${received}` : `${place} must have ${names}`;
  return { pointer, keyword, expected: names === null ? expected : `an object with ${names}`, received, message };
}

/** The names in `oneOf` if each of its schemas only requires one property. */
function oneNamesOf(schemas: unknown): string | null {
  if (!Array.isArray(schemas)) return null;
  const names = schemas.flatMap((schema: unknown) => {
    const required = property(schema, "required");
    const isAll = typeof schema === "object" && schema !== null && Object.keys(schema).length === 1;
    return isAll && Array.isArray(required) && required.length === 1 ? [cut(String(required[0]), MAX_TEXT)] : [];
  });
  if (names.length < schemas.length || names.length < 2) return null;
  return cut(`exactly one of ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`, MAX_EXPECTED);
}

/** The keyword's requirement, worded to follow "must be". */
function expectation(error: ErrorObject): string {
  const { keyword, params } = error;
  const limit = Number(params["limit"]);
  switch (keyword.replace(OWN, "")) {
    case "type":
      return list(params["type"], " or ");
    case "enum":
      return `one of ${values(params["allowedValues"])}`;
    case "const":
      return `the constant ${quote(params["allowedValue"])}`;
    case "required":
    case "dependentRequired":
    case "dependencies":
      return expectedProperty(error);
    case "additionalProperties":
    case "unevaluatedProperties":
      return allowedProperties(error);
    case "pattern":
      return `string matching ${cut(String(params["pattern"]), MAX_TEXT)}`;
    case "format":
      return `string of format ${cut(String(params["format"]), MAX_TEXT)}`;
    case "minLength":
      return `at least ${count(limit, "character")}`;
    case "maxLength":
      return `at most ${count(limit, "character")}`;
    case "minItems":
      return `an array of at least ${count(limit, "item")}`;
    case "maxItems":
    case "items":
    case "additionalItems":
    case "unevaluatedItems":
      return `an array of at most ${count(limit || Number(params["len"] ?? 0), "item")}`;
    case "uniqueItems":
      return `an array without duplicates (items ${Number(params["j"])} and ${Number(params["i"])} are equal)`;
    case "contains":
      return contained(params["minContains"], params["maxContains"]);
    case "minProperties":
      return `an object of at least ${count(limit, "property")}`;
    case "maxProperties":
      return `an object of at most ${count(limit, "property")}`;
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "exclusiveMaximum":
      return `${String(params["comparison"])} ${String(params["limit"])}`;
    case "multipleOf":
      return `a multiple of ${String(params["multipleOf"])}`;
    case "anyOf":
      return "valid against at least one of the schemas in anyOf";
    case "oneOf":
      return "valid against exactly one of the schemas in oneOf";
    case "not":
      return "something that the schema in not does not allow";
    case "if":
      return `valid against the schema in ${String(params["failingKeyword"])}`;
    case "propertyNames":
      return "a name that the schema in propertyNames allows";
    case "false schema":
      return "absent: nothing is allowed here";
    default:
      return `valid against ${cut(keyword, MAX_TEXT)}`;
  }
}

function contained(min: unknown, max: unknown): string {
  const most = max === undefined ? "" : ` and at most ${Number(max)}`;
  return `an array with at least ${Number(min)}${most} items that the schema in contains allows`;
}

/** The schema's type for the missing property. */
function expectedProperty(error: ErrorObject): string {
  const properties: unknown = property(error.parentSchema, "properties");
  const missing = property(properties, String(error.params["missingProperty"]));
  const type = property(missing, "type") ?? property(missing, NUMBER_TYPE);
  return type === undefined ? "a value" : list(type, " or ");
}

function allowedProperties(error: ErrorObject): string {
  const properties: unknown = property(error.parentSchema, "properties");
  const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  return names.length === 0 ? "no such property" : `one of the properties ${values(names)}`;
}

/** A short description of a value: at most one line. */
function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  // JSON has no form for them that a message could show.
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (Array.isArray(value)) return `array of ${count(value.length, "item")}`;
  if (typeof value === "object") return `object with ${count(Object.keys(value).length, "property")}`;
  return `${typeof value === "bigint" ? "number" : typeof value} ${quote(value)}`;
}

function quote(value: unknown): string {
  if (typeof value === "bigint") return cut(String(value), MAX_TEXT);
  if (typeof value === "object" && value !== null) return describeValue(value);
  const short = typeof value === "string" ? value.slice(0, MAX_TEXT + 1) : value;
  return cut(JSON.stringify(short) ?? "nothing", MAX_TEXT);
}

function values(allowed: unknown): string {
  if (!Array.isArray(allowed)) return quote(allowed);
  const shown = allowed.slice(0, 20).map(quote);
  return shown.join(", ") + (allowed.length > shown.length ? `, and ${allowed.length - shown.length} more` : "");
}

function list(value: unknown, separator: string): string {
  return Array.isArray(value) ? value.map(String).join(separator) : String(value);
}

function count(amount: number, noun: string): string {
  if (amount === 1) return `1 ${noun}`;
  return noun === "property" ? `${amount} properties` : `${amount} ${noun}s`;
}

function property(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function cut(value: string, length: number): string {
  return value.length > length ? `${value.slice(0, length)}…` : value;
}
