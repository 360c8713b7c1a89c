import { isObject, type JsonSchema, type JsonValue, pointerSegment } from "../../../kernel/base/json.ts";
import { ContractError } from "../../../kernel/tool/contracts/contract.ts";

/** All parameter types. */
export const PARAMETER_TYPES = ["string", "number", "integer", "boolean", "object", "array"] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];
/** Type that `PythonToolProvider` lists for a parameter without an annotation. */
const ANY = "any";

/** One parameter of a tool. */
export interface ToolParameter {
  /** `any` for a value of any type, as `PythonToolProvider` writes it. */
  readonly type: ParameterType | typeof ANY;
  readonly description?: string;
  /** Default: false. */
  readonly required?: boolean;
  /** Value for a parameter that the caller leaves out. */
  readonly default?: JsonValue;
  /** The allowed values of a parameter of type `string`. */
  readonly enum?: readonly string[];
}

export type ToolParameters = { readonly [name: string]: ToolParameter };

type Fields = { readonly [key: string]: unknown };

const PARAMETERS_MAX = 1_000;
const ENUM_MAX = 1_000;

/**
 * Reads a tool's parameters; `{}` for a missing value. `null`, which Python writes, counts as missing. Throws a
 * `ContractError` that points to the mistake; `pointer` is the position of the parameters.
 */
export function readParameters(value: unknown, pointer: string): ToolParameters {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw wrong(pointer, "must be an object of parameters by their names");
  const entries = Object.entries(value);
  if (entries.length > PARAMETERS_MAX) throw wrong(pointer, `has more than ${PARAMETERS_MAX} parameters`);
  return Object.fromEntries(
    entries.map(([name, parameter]) => [name, readParameter(parameter, pointer + pointerSegment(name))]),
  );
}

function readParameter(value: unknown, pointer: string): ToolParameter {
  if (!isObject(value)) throw wrong(pointer, "must be an object with a type");
  const { type, description = null, required = null, default: fallback = null, enum: allowed = null } = value;
  if (!isParameterType(type) && type !== ANY) {
    throw wrong(`${pointer}/type`, `must be one of ${PARAMETER_TYPES.join(", ")}`);
  }
  if (description !== null && typeof description !== "string")
    throw wrong(`${pointer}/description`, "must be a string");
  if (required !== null && typeof required !== "boolean") throw wrong(`${pointer}/required`, "must be true or false");
  const names = allowed === null ? null : readEnum(allowed, type, `${pointer}/enum`);
  if (fallback !== null && !fits(fallback, type, names)) {
    const places = names === null ? `a value of the type ${type}` : "one of the enum's values";
    throw wrong(`${pointer}/default`, `must be ${places}`);
  }
  return {
    type,
    ...(description === null ? {} : { description }),
    required: required ?? false,
    ...(fallback === null ? {} : { default: fallback }),
    ...(names === null ? {} : { enum: names }),
  };
}

function readEnum(value: unknown, type: ToolParameter["type"], pointer: string): readonly string[] {
  if (type !== "string") throw wrong(pointer, `is for parameters of the type string, and this one's is ${type}`);
  if (!isStrings(value) || value.length === 0 || value.length > ENUM_MAX) {
    throw wrong(pointer, `must be a list of 1 to ${ENUM_MAX} strings`);
  }
  if (new Set(value).size < value.length) throw wrong(pointer, "names a value twice");
  return [...value];
}

/** The JSON Schema of arguments for such parameters. */
export function toSchema(parameters: ToolParameters): JsonSchema {
  const entries = Object.entries(parameters);
  const required = entries.filter(([, parameter]) => parameter.required === true).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, parameter]) => [name, schemaOf(parameter)])),
    ...(required.length === 0 ? {} : { required }),
  };
}

function schemaOf(parameter: ToolParameter): JsonSchema {
  const { required: _required, type, ...schema } = parameter;
  return type === ANY ? schema : { type, ...schema };
}

/**
 * Converts a schema to parameters as far as possible: names, types, descriptions, defaults and allowed strings. The
 * type defaults to `string`.
 */
export function fromSchema(schema: JsonSchema): ToolParameters {
  const properties = fieldsOf(fieldsOf(schema)["properties"]);
  const required = fieldsOf(schema)["required"];
  const names = new Set(isStrings(required) ? required : []);
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, parameterOf(fieldsOf(property), names.has(name))]),
  );
}

function parameterOf(schema: Fields, required: boolean): ToolParameter {
  const type = typeOf(schema) ?? "string";
  const { description, default: fallback, enum: values, const: only } = schema;
  const listed = values === undefined && only !== undefined ? [only] : values;
  const names = type === "string" && isStrings(listed) ? [...new Set(listed)] : [];
  const allowed = names.length > 0 && names.length <= ENUM_MAX ? names : null;
  return {
    type,
    ...(typeof description === "string" ? { description } : {}),
    required,
    ...(fits(fallback, type, allowed) ? { default: fallback } : {}),
    ...(allowed === null ? {} : { enum: allowed }),
  };
}

function typeOf(schema: Fields, isBranch = false): ParameterType | undefined {
  const { type, enum: values, const: only, anyOf, oneOf, properties, items } = schema;
  const named = listOf(type ?? []).find(isParameterType);
  if (named !== undefined) return named;
  for (const value of [only, ...(Array.isArray(values) ? values : [])]) {
    const found = PARAMETER_TYPES.find((one) => fits(value, one, null));
    if (found !== undefined) return found;
  }
  if (properties !== undefined) return "object";
  if (items !== undefined) return "array";
  if (isBranch) return undefined;
  const branches = [...listOf(anyOf ?? []), ...listOf(oneOf ?? [])];
  for (const branch of branches) {
    const found = typeOf(fieldsOf(branch), true);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether a value has the type and is one of the allowed ones. */
function fits(value: unknown, type: ToolParameter["type"], allowed: readonly string[] | null): value is JsonValue {
  switch (type) {
    case "string":
      return typeof value === "string" && (allowed === null || allowed.includes(value));
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    case "integer":
      return Number.isInteger(value);
    case "boolean":
      return typeof value === "boolean";
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case ANY:
      return true;
  }
}

function isParameterType(value: unknown): value is ParameterType {
  return PARAMETER_TYPES.some((type) => type === value);
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function wrong(pointer: string, problem: string): ContractError {
  return new ContractError("xaibo", pointer, problem);
}
