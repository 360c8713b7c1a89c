import { isObject, type JsonSchema } from "../../../kernel/base/json.ts";
import {
  memberOf,
  type Members,
  type Place,
  readFlag,
  readList,
  readMembers,
  readNumber,
  readOptional,
  readText,
  shown,
  wrong,
} from "./reading.ts";

/** The types of a specification's fields. */
export type FieldType = "string" | "integer" | "number" | "boolean" | "object" | "array";

/** One field of a `tools_api_spec`. */
export interface FieldSpec {
  readonly type: FieldType;
  readonly description?: string;
  /** Bounds of a number, inclusive. */
  readonly min?: number;
  readonly max?: number;
  /** Value of a missing field. */
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  /** Default: false. */
  readonly required?: boolean;
  /** The fields of an object. */
  readonly properties?: Fields;
  /** The type of a list's entries. */
  readonly items?: FieldSpec;
}

/** Fields keyed by name. */
export interface Fields {
  readonly [name: string]: FieldSpec;
}

/** Input, output and execution settings of a tool. */
export interface ToolsApiSpec {
  readonly input: Fields;
  readonly output: Fields;
  /** `timeout` in seconds, and `retries`: their defaults apply unless a call overrides them. */
  readonly management?: Fields;
}

const TYPES: readonly FieldType[] = ["string", "integer", "number", "boolean", "object", "array"];
const DEPTH_MAX = 16;
const FIELDS_MAX = 1_000;
const ENUM_MAX = 1_000;
const NAME_MAX_CHARACTERS = 256;
const DESCRIPTION_MAX_CHARACTERS = 10_000;

/** Reads fields recursively. Throws a `ContractError` that points to an invalid one. */
export function readFields(place: Place, depth = 0): Fields {
  const members = readMembers(place);
  const names = Object.keys(members);
  if (names.length > FIELDS_MAX) throw wrong(place, `must have at most ${FIELDS_MAX} fields`);
  const long = names.find((name) => name.length > NAME_MAX_CHARACTERS);
  if (long !== undefined) throw wrong(place, `must have names of at most ${NAME_MAX_CHARACTERS} characters`);
  return Object.fromEntries(names.map((name) => [name, readField(memberOf(members, place, name), depth)]));
}

function readField(place: Place, depth: number): FieldSpec {
  if (depth >= DEPTH_MAX) throw wrong(place, `must not be nested deeper than ${DEPTH_MAX} levels`);
  const members = readMembers(place);
  const at = (name: string): Place => memberOf(members, place, name);
  const type = readType(at("type"));
  const description = readOptional(at("description"), (one) => readText(one, DESCRIPTION_MAX_CHARACTERS));
  const [min, max] = [readBound(at("min"), type), readBound(at("max"), type)];
  if (min !== undefined && max !== undefined && min > max) throw wrong(at("max"), "must not be below min");
  const choices = readOptional(at("enum"), readChoices);
  const required = readOptional(at("required"), readFlag);
  const properties =
    type === "object" ? readOptional(at("properties"), (one) => readFields(one, depth + 1)) : undefined;
  const items = type === "array" ? readOptional(at("items"), (one) => readField(one, depth + 1)) : undefined;
  const field: FieldSpec = {
    type,
    ...(description === undefined ? {} : { description }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...(choices === undefined ? {} : { enum: choices }),
    ...(required === undefined ? {} : { required }),
    ...(properties === undefined ? {} : { properties }),
    ...(items === undefined ? {} : { items }),
  };
  if (choices?.some((choice) => !fits(choice, type)) === true) throw wrong(at("enum"), `must be of type ${type}`);
  const preset = at("default");
  if (preset.value === undefined) return field;
  checkDefault(preset, field);
  return { ...field, default: preset.value };
}

function readType(place: Place): FieldType {
  const type = TYPES.find((one) => one === place.value);
  if (type !== undefined) return type;
  if (place.value === undefined) throw wrong(place, `is required, one of ${TYPES.join(", ")}`);
  throw wrong(place, `must be one of ${TYPES.join(", ")}, and is ${shown(place.value)}`);
}

function readBound(place: Place, type: FieldType): number | undefined {
  const bound = readOptional(place, readNumber);
  if (bound !== undefined && type !== "integer" && type !== "number") throw wrong(place, "is for numbers only");
  return bound;
}

function readChoices(place: Place): readonly unknown[] {
  const choices = readList(place, ENUM_MAX).map(({ value }) => value);
  if (choices.length === 0) throw wrong(place, "must not be empty");
  return choices;
}

function checkDefault(place: Place, { type, min, max, enum: choices }: FieldSpec): void {
  const { value } = place;
  if (!fits(value, type)) throw wrong(place, `must be of type ${type}`);
  if (typeof value === "number" && (value < (min ?? value) || value > (max ?? value))) {
    throw wrong(place, "must be within min and max");
  }
  if (choices !== undefined && !choices.some((one) => isSame(one, value))) throw wrong(place, "must be one of enum");
}

function fits(value: unknown, type: FieldType): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "string":
    case "number":
    case "boolean":
      return typeof value === type;
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** The JSON Schema of an object with these fields. Other properties are allowed. */
export function writeSchema(fields: Fields): JsonSchema & object {
  const entries = Object.entries(fields);
  const required = entries.filter(([, field]) => field.required === true).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, field]) => [name, schemaOf(field)])),
    ...(required.length === 0 ? {} : { required }),
  };
}

function schemaOf({ min, max, required: _required, properties, items, ...rest }: FieldSpec): JsonSchema {
  return {
    ...rest,
    ...(min === undefined ? {} : { minimum: min }),
    ...(max === undefined ? {} : { maximum: max }),
    ...(properties === undefined ? {} : writeSchema(properties)),
    ...(items === undefined ? {} : { items: schemaOf(items) }),
  };
}

/**
 * Converts an object's JSON Schema to fields. A specification has types, bounds of numbers, defaults, choices and
 * nested fields: all other keywords are left out, and a field without a representable type is left out entirely, so
 * that the fields never demand more than the schema.
 */
export function fieldsOf(schema: unknown, depth = 0): Fields {
  if (!isObject(schema) || !isObject(schema["properties"]) || depth >= DEPTH_MAX) return {};
  const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const found: [string, FieldSpec][] = [];
  for (const [name, one] of Object.entries(schema["properties"])) {
    const field = fieldOf(one, depth);
    if (field === undefined || name.length > NAME_MAX_CHARACTERS || found.length >= FIELDS_MAX) continue;
    found.push([name, required.includes(name) ? { ...field, required: true } : field]);
  }
  return Object.fromEntries(found);
}

function fieldOf(schema: unknown, depth: number): FieldSpec | undefined {
  if (!isObject(schema) || depth >= DEPTH_MAX) return undefined;
  const { description } = schema as { description?: unknown };
  const choices = choicesOf(schema);
  const type = typeOf(schema["type"], choices);
  if (type === undefined) return undefined;
  const properties = type === "object" ? fieldsOf(schema, depth + 1) : {};
  const items = type === "array" ? fieldOf(schema["items"], depth + 1) : undefined;
  const field: FieldSpec = {
    type,
    ...(isDescription(description) ? { description } : {}),
    ...boundsOf(schema, type),
    ...(choices === undefined ? {} : { enum: choices }),
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(items === undefined ? {} : { items }),
  };
  const preset = Object.hasOwn(schema, "default") ? schema["default"] : undefined;
  return preset !== undefined && isAllowed(preset, field) ? { ...field, default: preset } : field;
}

function isDescription(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= DESCRIPTION_MAX_CHARACTERS;
}

/** The values that a schema enumerates. */
function choicesOf(schema: Members): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schema["const"]];
  const { enum: choices } = schema as { enum?: unknown };
  if (!Array.isArray(choices) || choices.length === 0 || choices.length > ENUM_MAX) return undefined;
  return choices as readonly unknown[];
}

/** The declared type, or else the type of all choices. */
function typeOf(type: unknown, choices: readonly unknown[] | undefined): FieldType | undefined {
  if (type !== undefined) {
    return TYPES.find((one) => one === type && (choices === undefined || choices.every((choice) => fits(choice, one))));
  }
  return choices && TYPES.find((one) => choices.every((choice) => fits(choice, one)));
}

function boundsOf({ minimum, maximum }: Members, type: FieldType): Pick<FieldSpec, "min" | "max"> {
  if (type !== "integer" && type !== "number") return {};
  const [min, max] = [minimum, maximum].map((bound) => (Number.isFinite(bound) ? Number(bound) : undefined));
  if (min !== undefined && max !== undefined && min > max) return {};
  return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
}

function isAllowed(value: unknown, field: FieldSpec): boolean {
  try {
    checkDefault({ value, pointer: "" }, field);
    return true;
  } catch {
    return false;
  }
}
