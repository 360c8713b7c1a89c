import { GloveboxError } from "../../kernel/base/errors.ts";
import { copyJson } from "../../kernel/base/json-writer.ts";
import { isObject, type JsonSchema, nameOfSegment, pointerSegment } from "../../kernel/base/json.ts";
import { dialectOf, dialectWords } from "../../kernel/base/schema/schema-dialect.ts";
import { findSchema } from "../../kernel/tool/declarations/references.ts";
import {
  isLongInteger,
  isNullBeside,
  isPattern,
  isPlainKeyword,
  modernized,
  plainValue,
  SCHEMA_KEYWORDS,
} from "./openapi/keywords.ts";
import { shortText } from "./remote-tool.ts";

/** A schema of another server without its unusable parts, and a list of these. */
export interface LoosenedSchema {
  readonly schema: JsonSchema;
  readonly findings: readonly string[];
}

/** Schemas in one; one with more is refused as a whole. */
const SCHEMAS_MAX = 5_000;
/** Mistakes of one schema that are reported, and removed one after the other if only compiling it finds them. */
const MISTAKES_MAX = 20;
const SHOWN_MAX = 60;
const LATER = "https://json-schema.org/draft/2020-12/schema";
const MAPS = ["properties", "patternProperties", "dependentSchemas", "definitions", "$defs"];

type Json = Readonly<Record<string, unknown>>;

/**
 * A schema without the parts that a check cannot use: a remote server checks its own arguments, and the check here only
 * helps. Forms of draft-04 and of OpenAPI 3.0 are converted by their meaning, and so are keywords of two dialects if
 * none is named. Never throws.
 */
export function loosenSchema(schema: JsonSchema): LoosenedSchema {
  if (typeof schema === "boolean") return { schema, findings: [] };
  const { earlier, later } = dialectWords(schema);
  const isMixed = schema["$schema"] === undefined && earlier !== undefined && later !== undefined;
  const loosening = new Loosening(schema, isMixed);
  const read = loosening.read(schema, "") as JsonSchema;
  if (isMixed) {
    const finding = `it has ${earlier} of draft-07 beside ${later} of draft 2020-12, and is read as one of 2020-12`;
    const named = typeof read === "boolean" ? read : { $schema: LATER, ...read };
    return { schema: named, findings: [finding, ...loosening.findings] };
  }
  const isIgnored = later !== undefined && schema["$schema"] !== undefined && dialectOf(schema) === "draft-07";
  const ignored = isIgnored ? [`${later} is not checked: draft-07, which its $schema names, has no such word`] : [];
  return { schema: read, findings: [...ignored, ...loosening.findings] };
}

class Loosening {
  readonly #root: Json;
  readonly findings: string[] = [];
  readonly #isMixed: boolean;
  #schemas = 0;

  /** `isMixed`: lists of draft-07 are read in the words of 2020-12. */
  constructor(root: Json, isMixed: boolean) {
    this.#root = root;
    this.#isMixed = isMixed;
  }

  read(value: unknown, pointer: string): unknown {
    if (typeof value === "boolean") return value;
    if (!isObject(value)) {
      this.#leave(pointer, value, "is no schema");
      return true;
    }
    // Deeper or larger parts stay, and are refused by the limits of all schemas.
    if (++this.#schemas > SCHEMAS_MAX || pointer.length > SCHEMAS_MAX) return value;
    const read: Record<string, unknown> = {};
    const modern = modernized(withoutOldForms(value));
    for (const [keyword, member] of Object.entries(this.#isMixed ? withLaterTuple(modern) : modern)) {
      const found = this.#member(keyword, member, pointer + pointerSegment(keyword));
      if (found !== undefined) Object.defineProperty(read, keyword, { value: found, ...MEMBER });
    }
    return isNullBeside(value) ? { anyOf: [read, { type: "null" }] } : read;
  }

  #member(keyword: string, value: unknown, pointer: string): unknown {
    if (value === undefined || keyword === "nullable") return undefined;
    if (keyword === "$schema") return this.#dialect(value, pointer);
    if (keyword === "$ref") return this.#reference(value, pointer);
    if (keyword === "enum") {
      if (Array.isArray(value) && value.length > 0) return value;
      return this.#leave(pointer, value, "is no list of values");
    }
    if (MAPS.includes(keyword)) return this.#map(keyword, value, pointer);
    const kind = SCHEMA_KEYWORDS.get(keyword);
    if (kind === "list" || (keyword === "items" && Array.isArray(value))) {
      if (Array.isArray(value) && value.length > 0) return value.map((one, at) => this.read(one, `${pointer}/${at}`));
      return keyword === "items" ? [] : this.#leave(pointer, value, "is no list of schemas");
    }
    if (kind === "one") return this.read(value, pointer);
    // Values, and names of other keywords, are kept unchanged.
    if (keyword === "const" || !isPlainKeyword(keyword)) return value;
    const found = plainValue(keyword, value);
    if (found === undefined || JSON.stringify(found) !== JSON.stringify(value))
      this.#leave(pointer, value, `is no value of ${keyword}`);
    return found;
  }

  #map(keyword: string, value: unknown, pointer: string): unknown {
    if (!isObject(value)) return this.#leave(pointer, value, "is no object of schemas");
    const read: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(value)) {
      const place = pointer + pointerSegment(name);
      if (keyword === "patternProperties" && !isPattern(name)) this.#leave(place, name, "is no pattern");
      else Object.defineProperty(read, name, { value: this.read(member, place), ...MEMBER });
    }
    return read;
  }

  #dialect(value: unknown, pointer: string): unknown {
    if (dialectOf({ $schema: value }) !== undefined) return value;
    // Draft-04's own forms are converted by their meaning.
    if (typeof value === "string" && /draft-0[346]\//.test(value)) return undefined;
    return this.#leave(pointer, value, "is a dialect that is not known");
  }

  #reference(value: unknown, pointer: string): unknown {
    const isLost =
      typeof value !== "string" || (/^#(?:\/|$)/.test(value) && findSchema(this.#root, value) === undefined);
    return isLost ? this.#leave(pointer, value, "refers to a schema that is not there") : value;
  }

  #leave(pointer: string, value: unknown, problem: string): undefined {
    if (this.findings.length > MISTAKES_MAX) return;
    const shown = typeof value === "string" ? JSON.stringify(shortText(value, SHOWN_MAX)) : kindOf(value);
    this.findings.push(`${shortText(pointer, 4 * SHOWN_MAX) || "the schema"}: ${shown} ${problem}, and is left away`);
  }
}

const MEMBER = { writable: true, enumerable: true, configurable: true } as const;

/** Converts keywords that draft-04 writes in other forms than later drafts, or that these lack. */
function withoutOldForms(schema: Json): Json {
  const { id, exclusiveMinimum, exclusiveMaximum, ...rest } = schema;
  return {
    ...rest,
    ...(exclusiveMinimum === undefined || exclusiveMinimum === false ? {} : { exclusiveMinimum }),
    ...(exclusiveMaximum === undefined || exclusiveMaximum === false ? {} : { exclusiveMaximum }),
    ...(id === undefined || typeof id === "string" ? {} : { id }),
  };
}

/** A list whose first items have their own schemas, in the keywords of 2020-12. */
function withLaterTuple({ items, additionalItems, ...rest }: Json): Json {
  if (!Array.isArray(items)) return items === undefined ? rest : { ...rest, items };
  const tuple = items.length === 0 ? {} : { prefixItems: items };
  return { ...tuple, ...(additionalItems === undefined ? {} : { items: additionalItems }), ...rest };
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : (JSON.stringify(value) ?? "nothing").slice(0, SHOWN_MAX);
}

/** A compiled schema, and the result of compiling. */
export interface CompiledSchema<Code> extends LoosenedSchema {
  readonly code: Code;
}

/**
 * Compiles a schema. Mistakes that only compiling finds are removed at the place in the error, and finally the whole
 * schema, for `otherwise`. Throws the error of `compile` for that one.
 */
export function compileLoosened<Code>(
  { schema, findings }: LoosenedSchema,
  compile: (schema: JsonSchema) => Code,
  otherwise: JsonSchema,
): CompiledSchema<Code> {
  const found = [...findings];
  let usable = schema;
  for (let mistakes = 0; mistakes <= MISTAKES_MAX; mistakes++) {
    try {
      return { schema: usable, findings: found, code: compile(usable) };
    } catch (error) {
      if (!(error instanceof GloveboxError)) throw error;
      found.push(`left away: ${error.message}`);
      const rest = mistakes === MISTAKES_MAX ? undefined : withoutPart(usable, pointerOf(error));
      if (rest === undefined) break;
      usable = rest;
    }
  }
  return { schema: otherwise, findings: found, code: compile(otherwise) };
}

function pointerOf({ details }: GloveboxError): string {
  const pointer: unknown = isObject(details) ? details["pointer"] : undefined;
  return typeof pointer === "string" ? pointer : "";
}

/** A copy without the part at the pointer; `undefined` if that is the whole, or does not exist. */
function withoutPart(schema: JsonSchema, pointer: string): JsonSchema | undefined {
  const names = pointer.split("/").slice(1).map(nameOfSegment);
  const last = names.pop();
  if (last === undefined || pointer.endsWith("…")) return undefined;
  const copy = copyJson(schema);
  let holder: unknown = copy;
  for (const name of names) {
    holder =
      typeof holder === "object" && holder !== null && Object.hasOwn(holder, name)
        ? Reflect.get(holder, name)
        : undefined;
  }
  if (typeof holder !== "object" || holder === null || !Object.hasOwn(holder, last)) return undefined;
  if (Array.isArray(holder)) holder[Number(last)] = true;
  else Reflect.deleteProperty(holder, last);
  return copy;
}

/** A copy without defaults: those of another server are described, and never sent. */
export function withoutDefaults(schema: JsonSchema): JsonSchema {
  return without(schema) as JsonSchema;
}

const VALUES: ReadonlySet<string> = new Set(["const", "enum", "examples"]);

function without(node: unknown, isMap = false): unknown {
  if (Array.isArray(node)) return node.map((one: unknown) => without(one));
  // A long integer is an object, which a copy would destroy.
  if (!isObject(node) || isLongInteger(node)) return node;
  const kept = Object.entries(node).flatMap(([key, value]): readonly (readonly [string, unknown])[] => {
    if (isMap) return [[key, without(value)]];
    if (key === "default") return [];
    return [[key, VALUES.has(key) ? value : without(value, MAPS.includes(key) || key === "dependencies")]];
  });
  return Object.fromEntries(kept);
}
