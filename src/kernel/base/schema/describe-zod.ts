import type { JsonSchema } from "../json.ts";

/**
 * JSON Schemas of zod's schemas that cannot write one themselves: those of zod 3, of zod 4 before 4.2, and of zod/mini.
 * They inform models: zod itself checks the values, so an unknown node allows everything.
 */

type Def = Readonly<Record<string, unknown>>;
type Json = Record<string, unknown>;

/** Whether it is a schema of zod without a JSON Schema of its own. */
export function isBareZod(schema: unknown): boolean {
  if (defOf(schema) === undefined) return false;
  return Reflect.get(Object(Reflect.get(Object(schema), "~standard")), "jsonSchema") === undefined;
}

export function describeZod(schema: unknown): JsonSchema {
  return written(schema, []);
}

const DEPTH_MAX = 24;
/** Nesting limit of a recursive schema within itself: each level multiplies its contents. */
const HELD_MAX = 2;
/** The definitions around one, outermost first. */
type Above = readonly Def[];

function defOf(schema: unknown): Def | undefined {
  const place: unknown = Reflect.get(Object(schema), "_zod");
  const def: unknown = Reflect.get(Object(place ?? schema), place === undefined ? "_def" : "def");
  if (typeof def !== "object" || def === null) return undefined;
  const kind: unknown = Reflect.get(def, "typeName") ?? Reflect.get(def, "type");
  return typeof kind === "string" ? (def as Def) : undefined;
}

/** `object` for `ZodObject` of zod 3 and `object` of zod 4. */
function kindOf({ typeName, type }: Def): string {
  const kind = typeof typeName === "string" ? typeName.replace(/^Zod/, "") : String(type);
  return kind.slice(0, 1).toLowerCase() + kind.slice(1);
}

function written(schema: unknown, above: Above): Json {
  const def = defOf(schema);
  if (def === undefined || above.length > DEPTH_MAX) return {};
  if (above.filter((one) => one === def).length >= HELD_MAX) return {};
  const said: unknown = Reflect.get(Object(schema), "description") ?? def["description"];
  const json = ofKind(kindOf(def), def, [...above, def]);
  return typeof said === "string" && said !== "" ? { ...json, description: said } : json;
}

function ofKind(kind: string, def: Def, above: Above): Json {
  const inner = (name: string): Json => written(def[name], above);
  switch (kind) {
    case "string":
      return { type: "string", ...stringChecks(def) };
    case "number":
    case "int":
      return numberChecks(def);
    case "bigInt":
    case "bigint":
      return { type: "integer" };
    case "boolean":
      return { type: "boolean" };
    case "null":
      return { type: "null" };
    case "literal":
      return oneOf(literals(def));
    case "enum":
      return oneOf(Array.isArray(def["values"]) ? def["values"] : enumValues(def["entries"]));
    case "nativeEnum":
      return oneOf(enumValues(def["values"]));
    case "array":
      return { type: "array", items: written(def["element"] ?? def["type"], above), ...listChecks(def) };
    case "tuple":
      return { type: "array", prefixItems: listOf(def["items"]).map((one) => written(one, above)) };
    case "set":
      return { type: "array", items: inner("valueType"), uniqueItems: true };
    case "record":
    case "map":
      return { type: "object", additionalProperties: inner("valueType") };
    case "object":
      return objectOf(def, above);
    case "union":
    case "discriminatedUnion":
      return { anyOf: listOf(def["options"]).map((one) => written(one, above)) };
    case "intersection":
      return { allOf: [inner("left"), inner("right")] };
    case "nullable":
      return { anyOf: [inner("innerType"), { type: "null" }] };
    case "default":
      return { ...inner("innerType"), ...defaultOf(def) };
    case "optional":
    case "readonly":
    case "nonoptional":
    case "branded":
    case "prefault":
      return written(def["innerType"] ?? def["type"], above);
    case "effects":
      // A preprocessor accepts anything.
      return Reflect.get(Object(def["effect"]), "type") === "preprocess" ? {} : inner("schema");
    case "pipe":
    case "pipeline":
      return inner("in");
    case "lazy":
      return written(called(def["getter"]), above);
    default:
      return {};
  }
}

function objectOf(def: Def, above: Above): Json {
  const shape = typeof def["shape"] === "function" ? called(def["shape"]) : def["shape"];
  const members = Object.entries(Object(shape) as Record<string, unknown>);
  const required = members.filter(([, member]) => !isOptional(member)).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(members.map(([name, member]) => [name, written(member, above)])),
    ...(required.length === 0 ? {} : { required }),
    ...(def["unknownKeys"] === "strict" ? { additionalProperties: false } : {}),
  };
}

function isOptional(schema: unknown): boolean {
  const def = defOf(schema);
  if (def === undefined) return true;
  switch (kindOf(def)) {
    case "optional":
    case "default":
    case "prefault":
    case "catch":
    case "any":
    case "unknown":
    case "undefined":
      return true;
    case "effects":
      return Reflect.get(Object(def["effect"]), "type") === "preprocess" || isOptional(def["schema"]);
    case "nullable":
    case "readonly":
    case "branded":
      return isOptional(def["innerType"] ?? def["type"]);
    case "pipe":
    case "pipeline":
      return isOptional(def["in"]);
    case "lazy":
      return false;
    case "union":
      return listOf(def["options"]).some(isOptional);
    default:
      return def["coerce"] === true;
  }
}

const FORMATS = new Map([
  ["email", "email"],
  ["url", "uri"],
  ["uuid", "uuid"],
  ["datetime", "date-time"],
  ["date", "date"],
]);

/** `{ kind, value }` of zod 3, and `{ _zod: { def: { check, … } } }` of zod 4. */
function checksOf(def: Def): readonly Def[] {
  return listOf(def["checks"]).map((check) => defOfCheck(check));
}

function defOfCheck(check: unknown): Def {
  const def: unknown = Reflect.get(Object(Reflect.get(Object(check), "_zod")), "def");
  return Object(def ?? check) as Def;
}

function stringChecks(def: Def): Json {
  if (def["coerce"] === true) return {};
  const json: Json = {};
  for (const check of [def, ...checksOf(def)]) {
    const kind = check["kind"] ?? check["check"];
    if (kind === "min" || kind === "min_length") json["minLength"] = check["value"] ?? check["minimum"];
    if (kind === "max" || kind === "max_length") json["maxLength"] = check["value"] ?? check["maximum"];
    const format = FORMATS.get(String(check["format"] ?? kind));
    if (format !== undefined) json["format"] = format;
  }
  return json;
}

function numberChecks(def: Def): Json {
  if (def["coerce"] === true) return {};
  const json: Json = { type: "number" };
  for (const check of [def, ...checksOf(def)]) {
    const kind = check["kind"] ?? check["check"];
    if (kind === "int" || check["format"] === "safeint") json["type"] = "integer";
    const isStrict = check["inclusive"] === false;
    if (kind === "min" || kind === "greater_than") json[isStrict ? "exclusiveMinimum" : "minimum"] = check["value"];
    if (kind === "max" || kind === "less_than") json[isStrict ? "exclusiveMaximum" : "maximum"] = check["value"];
  }
  return json;
}

function listChecks(def: Def): Json {
  const [least, most] = ["minLength", "maxLength"].map((name) => Reflect.get(Object(def[name]), "value") as unknown);
  return { ...(least === undefined ? {} : { minItems: least }), ...(most === undefined ? {} : { maxItems: most }) };
}

function literals(def: Def): readonly unknown[] {
  return (Array.isArray(def["values"]) ? def["values"] : [def["value"]]).filter((value) => value !== undefined);
}

function oneOf(values: readonly unknown[]): Json {
  return values.every((value) => typeof value === "string") ? { type: "string", enum: values } : { enum: values };
}

/** Values of an enum of TypeScript, which has its numbers as keys too. */
function enumValues(entries: unknown): readonly unknown[] {
  const values = Object.entries(Object(entries) as Record<string, unknown>);
  const numbers = values.filter(([, value]) => typeof value === "number").map(([key]) => key);
  return values
    .filter(([, value]) => !(typeof value === "string" && numbers.includes(value)))
    .map(([, value]) => value);
}

function defaultOf(def: Def): Json {
  const given = def["defaultValue"];
  const value = typeof given === "function" ? called(given) : given;
  return value === undefined ? {} : { default: value };
}

function called(make: unknown): unknown {
  return typeof make === "function" ? (Reflect.apply(make, undefined, []) as unknown) : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  if (value instanceof Map) return [...value.values()];
  return Array.isArray(value) ? value : [];
}
