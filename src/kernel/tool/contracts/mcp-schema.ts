import { isObject, type JsonSchema, pointerSegment } from "../../base/json.ts";
import { dialectOf, EARLIER_KEYWORDS, LATER_KEYWORDS } from "../../base/schema/schema-dialect.ts";
import { isEmptySchema, objectSchema, type ObjectSchema, refusesAll } from "./object-schema.ts";

/** A place of a tool's schemas that clients of the Model Context Protocol get in another form. */
export interface SchemaRewrite {
  /** JSON pointer within the tool, such as `/outputSchema/properties/value`. */
  readonly pointer: string;
  readonly reason: string;
}

type AnySchema = { readonly [key: string]: unknown };

interface McpSchemas {
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: { [key: string]: unknown };
  /** At most 20. */
  readonly rewrites: readonly SchemaRewrite[];
}

const REWRITES_MAX = 20;
const DRAFT_07 = "http://json-schema.org/draft-07/schema#";

/** Keywords with one schema, a list of schemas, or a map of schemas. Lists of texts in `dependencies` stay unchanged. */
const SCHEMAS = new Set(["items", "contains", "propertyNames", "not", "if", "then", "else", "contentSchema"]);
const SCHEMA_LISTS = new Set(["items", "prefixItems", "allOf", "anyOf", "oneOf"]);
const SCHEMA_MAPS = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);
/** Keywords that may be boolean in every dialect; clients look for `additionalProperties: false`. */
const EITHER = new Set(["additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems"]);
const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"];

/**
 * Writes a tool's schemas in the form that all revisions of the protocol allow, for clients that compile output
 * schemas: the official SDK's first version refuses a whole list of tools for one schema that its ajv cannot compile,
 * and reads all of them as draft-07. Equivalent forms are preferred. An output schema without one is replaced by its
 * type, which refuses less; the engine has checked the output already.
 */
export function mcpSchemas(inputSchema: JsonSchema, outputSchema: JsonSchema | null | undefined): McpSchemas {
  const input = new SchemaWriter("/inputSchema");
  const written = input.write(objectSchema(inputSchema));
  if (!isObject(inputSchema) || inputSchema["type"] !== "object") input.note("", 'it has "type": "object"');
  if (outputSchema === null || outputSchema === undefined) return { inputSchema: written, rewrites: input.rewrites };
  const output = new SchemaWriter("/outputSchema");
  const rewrites = (): SchemaRewrite[] => [...input.rewrites, ...output.rewrites].slice(0, REWRITES_MAX);
  if (typeof outputSchema === "boolean") {
    output.note("", "clients get none, because it is not an object");
    return { inputSchema: written, rewrites: rewrites() };
  }
  const { $id, ...rest } = outputSchema;
  const exact = output.write(rest);
  if ($id !== undefined) output.note("/$id", "it is left out, because clients keep the schemas of all tools together");
  if (output.obstacle === null) return { inputSchema: written, outputSchema: exact, rewrites: rewrites() };
  const loose = looseSchema(outputSchema);
  output.rewrites.length = 0;
  output.note("", `clients get ${JSON.stringify({ type: loose["type"] })}: ${output.obstacle}`);
  return { inputSchema: written, outputSchema: loose, rewrites: rewrites() };
}

function looseSchema({ type, title, description }: AnySchema): { [key: string]: unknown } {
  return {
    ...(type === undefined ? {} : { type }),
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
  };
}

/** A place within a schema: most of them are never written as a pointer. */
interface Place {
  readonly above: Place | null;
  readonly key: string | number;
}

function pointerTo(place: Place | null): string {
  return place === null ? "" : pointerTo(place.above) + pointerSegment(place.key);
}

class SchemaWriter {
  readonly rewrites: SchemaRewrite[] = [];
  /** The reason why some client would refuse the schema, or a value that it allows. */
  obstacle: string | null = null;
  readonly #root: string;
  /** Whether the schema's dialect is 2019-09 or 2020-12, which clients with only draft-07 misread. */
  #isLater = false;
  /** Whether its meaning depends on the dialect. */
  #depends = false;
  #hasLater = false;
  #hasNegation = false;

  constructor(root: string) {
    this.#root = root;
  }

  /** The schema, of which the parts that change are copies. */
  write<Schema extends AnySchema>(schema: Schema): Schema {
    const { $schema } = schema;
    this.#isLater = dialectOf(schema) !== "draft-07";
    const written = this.#writePart(schema, null) as Schema;
    // A reader that ignores a keyword allows more. Below a negation it allows less.
    if (this.#isLater && this.#hasLater && this.#hasNegation) {
      this.#obstruct(null, "draft-07 reads its not, oneOf or if in another way");
    }
    if ($schema !== undefined || this.#isLater || !this.#depends) return written;
    this.note("/$schema", "it names draft-07, because clients assume draft 2020-12");
    return { $schema: DRAFT_07, ...written };
  }

  note(pointer: string, reason: string): void {
    if (this.rewrites.length < REWRITES_MAX) this.rewrites.push({ pointer: `${this.#root}${pointer}`, reason });
  }

  #obstruct(place: Place | null, problem: string): void {
    this.obstacle ??= place === null ? problem : `at ${pointerTo(place)} ${problem}`;
  }

  #writePart(schema: AnySchema, place: Place | null): AnySchema {
    this.#look(schema, place);
    return mapMembers(this.#withoutRest(schema, place), (value, keyword) => {
      const below = { above: place, key: keyword };
      if (Array.isArray(value)) {
        if (!SCHEMA_LISTS.has(keyword)) return value;
        const list = value.map((each: unknown, key) => this.#asObject(each, { above: below, key }));
        return list.every((each, index) => each === value[index]) ? value : list;
      }
      if (SCHEMA_MAPS.has(keyword) && isObject(value)) {
        return mapMembers(value, (each, key) =>
          Array.isArray(each) ? each : this.#asObject(each, { above: below, key }),
        );
      }
      if (EITHER.has(keyword) && typeof value === "boolean") return value;
      return SCHEMAS.has(keyword) || EITHER.has(keyword) ? this.#asObject(value, below) : value;
    });
  }

  #asObject(schema: unknown, place: Place): unknown {
    if (typeof schema !== "boolean") return isObject(schema) ? this.#writePart(schema, place) : schema;
    if (this.rewrites.length < REWRITES_MAX) this.note(pointerTo(place), schema ? "true is {}" : 'false is {"not":{}}');
    return schema ? {} : { not: {} };
  }

  /** A list that ends after its `prefixItems` has a maximum length instead, which draft-07 reads in the same way. */
  #withoutRest(schema: AnySchema, place: Place | null): AnySchema {
    const { prefixItems, items } = schema;
    if (!this.#isLater || !Array.isArray(prefixItems) || !refusesAll(items)) return schema;
    this.note(`${pointerTo(place)}/items`, `maxItems instead of ${JSON.stringify(items)}`);
    const { items: _rest, maxItems, ...others } = schema;
    const { length } = prefixItems;
    return { ...others, maxItems: typeof maxItems === "number" ? Math.min(maxItems, length) : length };
  }

  #look(schema: AnySchema, place: Place | null): void {
    const hasLater = LATER_KEYWORDS.some((keyword) => keyword in schema);
    this.#hasLater ||= hasLater;
    this.#depends ||=
      hasLater || Array.isArray(schema["items"]) || EARLIER_KEYWORDS.some((keyword) => keyword in schema);
    this.#hasNegation ||= "oneOf" in schema || "if" in schema || !isEmptySchema(schema["not"] ?? {});
    if (this.obstacle !== null) return;
    const problem = problemOf(schema) ?? (this.#isLater ? laterProblemOf(schema) : null);
    if (problem !== null) this.#obstruct(place, problem);
  }
}

/** An object with other members; the object itself if none is another one. */
function mapMembers(object: AnySchema, write: (value: unknown, name: string) => unknown): AnySchema {
  const members = Object.entries(object);
  let changed = false;
  for (const member of members) {
    const written = write(member[1], member[0]);
    changed ||= written !== member[1];
    member[1] = written;
  }
  return changed ? Object.fromEntries(members) : object;
}

/** The reason why clients misread a part of a schema. */
function problemOf(schema: AnySchema): string | null {
  const { $id, $dynamicRef, pattern, patternProperties, properties, required } = schema;
  if (typeof $id === "string") return "has an $id of its own";
  const foreign = REFERENCES.some((keyword) => typeof schema[keyword] === "string" && !schema[keyword].startsWith("#"));
  if (foreign) return "refers to a schema by its $id";
  if (typeof $dynamicRef === "string" && $dynamicRef.startsWith("#/")) return "has a $dynamicRef without an anchor";
  const patterns = [...(isObject(patternProperties) ? Object.keys(patternProperties) : []), pattern];
  if (!patterns.every((each) => typeof each !== "string" || isUnicodePattern(each))) {
    return "has a pattern that is not one of Unicode mode";
  }
  const always: readonly unknown[] = Array.isArray(required) ? required : [];
  const inherited = Object.keys(properties ?? {}).some((name) => name in Object.prototype && !always.includes(name));
  return inherited ? "has an optional property whose name all objects of JavaScript have" : null;
}

/** The reason why clients with only draft-07 misread a part of a schema: they would refuse values that it allows. */
function laterProblemOf({ prefixItems, items, minContains }: AnySchema): string | null {
  if (prefixItems !== undefined && !isEmptySchema(items ?? true) && !refusesAll(items))
    return "has items beside prefixItems";
  return minContains === 0 ? "has minContains of 0" : null;
}

function isUnicodePattern(pattern: string): boolean {
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}
