import type { JsonSchema } from "../json.ts";
import type { SchemaSide } from "./from-json-schema.ts";

/**
 * Descriptions of schemas of libraries. This module imports types only: the bundler puts it into the bundle that
 * describes a tool, where it runs in the tool's isolate.
 *
 * A Standard Schema does not report the parts that its JSON Schema omits: zod silently drops a `refine`. So a schema
 * counts as complete in its JSON Schema only if each of its nodes is in a list here. Other libraries are unknown.
 */
export interface SchemaDescription {
  /** The JSON Schema of draft 2020-12, or the given one. */
  readonly schema: JsonSchema;
  /** Schema of values that are not certainly refused: without the defaults and checks that the library makes itself. */
  readonly check: JsonSchema;
  /** The first node that does more than the JSON Schema: `/properties/name: custom`. `null`: none exists. */
  readonly more: string | null;
}

/**
 * Describes a schema. `input`: what it accepts. `output`: its results, which equal what it accepts if it does no more
 * than its JSON Schema. Throws a `TypeError` if it cannot write itself as JSON Schema.
 */
export function describeSchema(schema: unknown, side: SchemaSide): SchemaDescription {
  const standard = standardOf(schema);
  if (standard === undefined) return { schema: schema as JsonSchema, check: schema as JsonSchema, more: null };
  const accepted = convert(schema, standard, "input");
  if (side === "input") return accepted;
  const given = convert(schema, standard, "output");
  const isSame = canonical(accepted.schema) === canonical(given.schema);
  const more = accepted.more ?? given.more ?? (isSame ? null : "its output differs from its input");
  return more === null ? accepted : { ...given, more };
}

/** Whether a value is a schema of a library rather than a JSON Schema. */
export function isStandardSchema(schema: unknown): boolean {
  return standardOf(schema) !== undefined;
}

interface Standard {
  readonly vendor?: unknown;
  readonly validate?: unknown;
  readonly jsonSchema?: { readonly [side in SchemaSide]?: (options: ConvertOptions) => unknown };
}

interface ConvertOptions {
  readonly target: "draft-2020-12";
  readonly libraryOptions?: Record<string, unknown>;
}

function standardOf(schema: unknown): Standard | undefined {
  if (schema === null || (typeof schema !== "object" && typeof schema !== "function")) return undefined;
  const standard: unknown = Reflect.get(schema, "~standard");
  if (typeof standard !== "object" || standard === null) return undefined;
  return typeof Reflect.get(standard, "validate") === "function" ? standard : undefined;
}

function convert(schema: unknown, standard: Standard, side: SchemaSide): SchemaDescription {
  const write = standard.jsonSchema?.[side];
  const vendor = String(standard.vendor);
  if (typeof write !== "function") {
    const advice = ADVICE.get(vendor) ?? "use a JSON Schema";
    throw new TypeError(`a schema of ${vendor} cannot write itself as JSON Schema; ${advice}`);
  }
  const hooks = HOOKS.get(vendor);
  const described = hooks === undefined ? describeUnknown(write, vendor) : describeWith(hooks, schema, write);
  if (described.more !== null) tryOnce(standard);
  return described;
}

type Write = (options: ConvertOptions) => unknown;

function describeUnknown(write: Write, vendor: string): SchemaDescription {
  const schema = write({ target: "draft-2020-12" }) as JsonSchema;
  return { schema, check: schema, more: `the schema library ${vendor} is not known` };
}

/** A library may need features that a hardened realm lacks: this test shows it before the first call. */
function tryOnce({ validate }: Standard): void {
  try {
    if (typeof validate === "function") validate(undefined);
  } catch (error) {
    if (error instanceof ReferenceError) throw error;
  }
}

function describeWith(hooks: Hooks, schema: unknown, write: Write): SchemaDescription {
  let more: string | null = null;
  const report: Report = (path, node) => void (more ??= `${path.map((part) => `/${String(part)}`).join("")}: ${node}`);
  const written = (options: Record<string, unknown>): JsonSchema =>
    write({ target: "draft-2020-12", libraryOptions: options }) as JsonSchema;
  const isStricter = hooks.examine?.(schema, report, written) === "stricter";
  const found = written(hooks.options(report, true));
  hooks.finish?.(found);
  if (more === null) return { schema: found, check: found, more };
  return { schema: found, check: isStricter ? true : written(hooks.options(report, false)), more };
}

/** Called for each node that does more than its JSON Schema. */
type Report = (path: readonly unknown[], node: string) => void;

/** Adds to the schema of a library a keyword that every library could write: an enum of texts is a string. */
function addTypes(schema: unknown): void {
  if (typeof schema !== "object" || schema === null) return;
  const values: unknown = Reflect.get(schema, "enum");
  const isText = Array.isArray(values) && values.every((value) => typeof value === "string");
  if (isText && !("type" in schema)) Reflect.set(schema, "type", "string");
  for (const member of Object.values(schema)) addTypes(member);
}

/** How the nodes of a library's schema are reported during its conversion. */
interface Hooks {
  /** Options of the library's conversion. `isWhole`: including what the schema itself writes and checks. */
  readonly options: (report: Report, isWhole: boolean) => Record<string, unknown>;
  /** Finds nodes that the conversion omits. `stricter`: the JSON Schema refuses values that the schema accepts. */
  readonly examine?: (
    schema: unknown,
    report: Report,
    written: (options: Record<string, unknown>) => JsonSchema,
  ) => "stricter" | undefined;
  /** Completes the schema that was written. */
  readonly finish?: (schema: unknown) => void;
}

const ADVICE = new Map<string, string>([
  ["valibot", 'wrap it with toStandardJsonSchema of "@valibot/to-json-schema"'],
  ["zod", 'import it from "zod", version 4.2 or later: zod/mini does not write JSON Schema'],
  ["arktype", "use version 2.1.28 or later"],
]);

type Json = Record<string, unknown>;

/** Words of a space-separated list. */
const words = (text: string): ReadonlySet<unknown> => new Set(text.split(" "));

const ZOD_TYPES = words(
  "string number boolean null any unknown never array object union intersection tuple record literal enum optional " +
    "nullable nonoptional default prefault readonly lazy template_literal",
);
const ZOD_CHECKS = words(
  "greater_than less_than multiple_of number_format min_length max_length length_equals string_format",
);
/** Formats of strings whose whole check is a pattern, which is part of the JSON Schema. */
const ZOD_FORMATS = words(
  "regex lowercase uppercase includes starts_with ends_with email guid uuid nanoid cuid cuid2 ulid xid ksuid ipv4 " +
    "cidrv4 date time datetime duration e164 hostname safeint int32 uint32 float32 float64",
);

interface ZodDef extends Json {
  readonly type?: string;
  readonly check?: string;
  readonly format?: string;
  readonly checks?: readonly ZodNode[];
  readonly shape?: { readonly [key: string]: ZodNode };
  readonly in?: ZodNode;
}
interface ZodNode {
  readonly _zod: { readonly def: ZodDef };
}

/** Whether a node accepts more values than the JSON Schema that zod writes for it. */
function isLenient({ _zod: { def } }: ZodNode): boolean {
  return def.type === "catch" || def["coerce"] === true || def.in?._zod.def.type === "transform";
}

/** Whether a pattern means the same without its flags. */
function isPlain(pattern: unknown): boolean {
  return !(pattern instanceof RegExp) || /^u?v?$/.test(pattern.flags);
}

/** The reason why a node does more; `undefined` if it does not. */
function moreOfZod(def: ZodDef): string | undefined {
  const { type, checks = [] } = def;
  if (def["coerce"] === true) return "coerce";
  if (!ZOD_TYPES.has(type)) return type ?? "a type without a name";
  if (def.format !== undefined && !ZOD_FORMATS.has(def.format)) return def.format;
  const odd = [{ _zod: { def } }, ...checks].map(({ _zod }) => _zod.def).find((one) => isOddCheck(one, one === def));
  return odd === undefined ? undefined : (odd.format ?? odd.check ?? type);
}

function isOddCheck(def: ZodDef, isItself: boolean): boolean {
  if (!isPlain(def["pattern"])) return true;
  if (isItself) return false;
  if (!ZOD_CHECKS.has(def.check)) return true;
  return def.format !== undefined && !ZOD_FORMATS.has(def.format);
}

const zod: Hooks = {
  options: (report, isWhole) => ({
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema, path }: { zodSchema: ZodNode; jsonSchema: Json; path: readonly unknown[] }) => {
      const { def } = zodSchema._zod;
      const more = moreOfZod(def);
      if (more !== undefined) report(path, more);
      const patterns = [def, ...(def.checks ?? []).map(({ _zod }) => _zod.def)];
      if (!patterns.every((one) => isPlain(one["pattern"])))
        for (const key of ["pattern", "allOf"]) delete jsonSchema[key];
      if (isLenient(zodSchema)) for (const key of Object.keys(jsonSchema)) if (!NOTES.has(key)) delete jsonSchema[key];
      const { required } = jsonSchema;
      if (def.shape !== undefined && Array.isArray(required)) {
        const { shape } = def;
        jsonSchema["required"] = required.filter((key: string) => !isLenientIn(shape, key));
      }
      if (!isWhole) delete jsonSchema["default"];
      if (!isWhole && more !== undefined) delete jsonSchema["format"];
    },
  }),
};

const NOTES = words("title description examples default deprecated readOnly");

function isLenientIn(shape: { readonly [key: string]: ZodNode }, key: string): boolean {
  const node = Object.hasOwn(shape, key) ? shape[key] : undefined;
  return node !== undefined && isLenient(node);
}

const VALIBOT_TYPES = words(
  "boolean null number string array tuple_with_rest loose_tuple strict_tuple object object_with_rest loose_object " +
    "strict_object record any unknown never nullable nullish exact_optional optional literal enum picklist union " +
    "variant intersect lazy",
);
const VALIBOT_ACTIONS = words(
  "description title metadata examples brand flavor readonly ends_with starts_with includes regex empty entries " +
    "min_entries max_entries gt_value lt_value min_value max_value integer safe_integer multiple_of length min_length " +
    "max_length non_empty not_value not_values value values bic cuid2 decimal digits domain hexadecimal hex_color ksuid " +
    "mac nanoid octal slug ulid isrc",
);

interface ValibotSchema extends Json {
  readonly type: unknown;
}
interface ValibotAction extends Json {
  readonly type: unknown;
  readonly requirement?: unknown;
}

/** Options that visit all items of all pipes: a conversion of one side stops at the first transformation. */
const valibot: Hooks = {
  examine: (_schema, report, written) => {
    written({ ...valibot.options(report, true), typeMode: "ignore" });
    return undefined;
  },
  options: (report, isWhole) => ({
    errorMode: "ignore",
    overrideAction: ({
      valibotAction,
      jsonSchema,
      errors,
    }: {
      valibotAction: ValibotAction;
      jsonSchema: Json;
      errors?: unknown;
    }) => {
      const isKnown = VALIBOT_ACTIONS.has(valibotAction.type) && (errors === undefined || isNote(valibotAction.type));
      const isFlagged = !isPlain(valibotAction.requirement);
      if (!isKnown || isFlagged) report([], String(valibotAction.type));
      if (isFlagged) delete jsonSchema["pattern"];
      if (!isWhole && !isKnown) delete jsonSchema["format"];
    },
    overrideSchema: ({
      valibotSchema,
      jsonSchema,
      errors,
    }: {
      valibotSchema: ValibotSchema;
      jsonSchema: Json;
      errors?: unknown;
    }) => {
      const { type } = valibotSchema;
      const given = valibotSchema["default"];
      const isDynamic = typeof given === "function" || (type === "nullish" && given !== undefined);
      if (!VALIBOT_TYPES.has(type) || errors !== undefined || isDynamic) report([], String(type));
      if (!isWhole) delete jsonSchema["default"];
    },
  }),
};

/** Actions that the conversion does not support, and that do not restrict values. */
function isNote(type: unknown): boolean {
  return type === "brand" || type === "flavor" || type === "readonly";
}

const arktype: Hooks = {
  finish: addTypes,
  examine: (schema, report) => {
    const type = schema as { readonly includesTransform?: unknown; readonly json?: unknown };
    if (type.includesTransform !== false) report([], "morph");
    const isFlagged = /"flags":"[^"]*[^"uv]/.test(JSON.stringify(type.json) ?? "");
    if (isFlagged) report([], "pattern with flags");
    return isFlagged ? "stricter" : undefined;
  },
  options: (report) => ({
    fallback: ({ code, base }: { code: string; base: unknown }) => {
      report([], code);
      return base;
    },
  }),
};

const HOOKS = new Map<string, Hooks>([
  ["zod", zod],
  ["valibot", valibot],
  ["arktype", arktype],
]);

/** A text that is equal for equal schemas. Values that zod refuses in the output, it removes from the input. */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  const members = Object.entries(value)
    .filter(([key, member]) => key !== "additionalProperties" || member !== false)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join()}}`;
}
