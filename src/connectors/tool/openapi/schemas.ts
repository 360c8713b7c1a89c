import { isObject, type JsonSchema } from "../../../kernel/base/json.ts";
import { UniqueNames } from "../../../kernel/tool/declarations/names.ts";
import { shortText } from "../remote-tool.ts";
import { type Json, LeftOut, MissingPart, type OpenApiDocument } from "./document.ts";
import {
  isKeywordOf,
  isNullBeside,
  isPattern,
  isLongInteger,
  modernized,
  plainValue,
  SAME_VALUE,
  SCHEMA_KEYWORDS,
  type Side,
  withAnyOf,
} from "./keywords.ts";

const DEPTH_MAX = 64;
const DESCRIPTION_MAX = 200;
const DEFAULT_MAX = 100;
const NAME_MAX = 60;
/** Length of a property's name. */
const PROPERTY_MAX = 256;
/** Schemas that one schema reaches by references. */
const DEFINITIONS_MAX = 1_000;
/** Schemas and keywords of one tool's arguments or output. */
const PARTS_MAX = 4_000;
/** Limits for all tools together. */
const LEFT: { readonly [One in Side]: number } = { input: 30_000, output: 300_000 };
const TOO_MANY = "the document's schemas have more parts than are read; name fewer operations in the option `tools`";
const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** A schema of the document in the form of JSON Schema 2020-12, whose references lead to `$defs`. */
interface Reading {
  readonly schema: JsonSchema;
  readonly refs: ReadonlySet<Definition>;
  /** Of these, the ones that describe the same value as the schema. */
  readonly heads: ReadonlySet<Definition>;
  /** Number of schemas and keywords in it. */
  readonly parts: number;
}

/** With its length as JSON. */
type DefinitionReading = Reading & { readonly length: number };

/** A schema that is referred to: read once for all operations. */
interface Definition {
  readonly name: string;
  readonly ref: string;
  /** Missing until a reference reaches it. */
  reading?: DefinitionReading | LeftOut;
  /** The reason why it allows any value. */
  missing?: string;
}

/** Place of a schema. */
interface Place {
  readonly refs: Set<Definition>;
  readonly heads: Set<Definition>;
  readonly isHead: boolean;
  readonly depth: number;
}

/**
 * Collects the references of one side's schemas. References stay references: a schema is read once, so neither a cycle
 * nor a tree of references makes it larger.
 */
export class Schemas {
  readonly #document: OpenApiDocument;
  readonly #side: Side;
  readonly #onMissing: (reason: string) => void;
  readonly #names = new UniqueNames();
  readonly #definitions = new Map<string, Definition>();
  #parts = 0;
  /** Parts that may still be written: those of arguments are compiled, which takes about 30 µs for each. */
  #left: number;

  /** `onMissing` is called for a missing schema, in whose place any value is accepted. */
  constructor(document: OpenApiDocument, side: Side, onMissing: (reason: string) => void) {
    this.#document = document;
    this.#side = side;
    this.#onMissing = onMissing;
    this.#left = LEFT[side];
  }

  /** Throws a `LeftOut`. */
  read(schema: unknown): Reading {
    const place = { refs: new Set<Definition>(), heads: new Set<Definition>(), isHead: true, depth: 0 };
    const before = this.#parts;
    return { schema: this.#read(schema, place), ...place, parts: this.#parts - before };
  }

  /** A separate schema, of at most `max` characters, with all references of its readings. Throws a `LeftOut`. */
  write(schema: Json, readings: readonly Reading[], max: number): JsonSchema {
    if (this.#left < 0) throw new LeftOut(TOO_MANY);
    const definitions = this.#reached(readings);
    const all = [...readings, ...definitions.map(([, reading]) => reading)];
    const count = all.reduce((sum, { parts }) => sum + parts, 0);
    const length = definitions.reduce((sum, [, reading]) => sum + reading.length, JSON.stringify(schema).length);
    if (length > max) throw new LeftOut(`its schemas have more than ${max} characters`);
    if (count > PARTS_MAX) throw new LeftOut(`its schemas have more than ${PARTS_MAX} parts`);
    this.#document.spend(length >> 2);
    this.#left -= count;
    if (this.#left < 0) throw new LeftOut(TOO_MANY);
    const $defs = Object.fromEntries(definitions.map(([{ name }, reading]) => [name, reading.schema]));
    return { $schema: DIALECT, ...schema, ...(definitions.length === 0 ? {} : { $defs }) };
  }

  #reached(readings: readonly Reading[]): readonly (readonly [Definition, DefinitionReading])[] {
    const reached = new Set<Definition>(readings.flatMap(({ refs }) => [...refs]));
    const found: [Definition, DefinitionReading][] = [];
    for (const definition of reached) {
      if (reached.size > DEFINITIONS_MAX) throw new LeftOut(`it refers to more than ${DEFINITIONS_MAX} schemas`);
      const reading = (definition.reading ??= this.#readDefinition(definition));
      if (reading instanceof LeftOut) throw reading;
      if (definition.missing !== undefined) this.#onMissing(definition.missing);
      found.push([definition, reading]);
      this.#document.spend(reading.refs.size + 1);
      for (const ref of reading.refs) reached.add(ref);
    }
    if (isEndless(reached)) throw new LeftOut("its schemas refer to each other without end");
    return found;
  }

  #readDefinition(definition: Definition): DefinitionReading | LeftOut {
    try {
      const reading = this.read(this.#document.at(definition.ref));
      return { ...reading, length: JSON.stringify(reading.schema).length };
    } catch (error) {
      if (error instanceof MissingPart) {
        definition.missing = error.message;
        return { ...this.read(true), length: 4 };
      }
      if (error instanceof LeftOut) return error;
      throw error;
    }
  }

  #read(schema: unknown, place: Place): JsonSchema {
    this.#document.spend(1);
    this.#parts++;
    if (typeof schema === "boolean") return schema;
    if (!isObject(schema)) return true;
    if (place.depth > DEPTH_MAX) throw new LeftOut(`its schemas are nested deeper than ${DEPTH_MAX} levels`);
    if (schema["$dynamicRef"] !== undefined) throw new LeftOut("its schemas have $dynamicRef");
    const hidden = this.#hiddenIn(schema["properties"]);
    const members: [string, unknown][] = [];
    const keywords = Object.entries(withAnyOf(modernized(schema)));
    this.#document.spend(keywords.length);
    for (const [keyword, value] of keywords) {
      const found = this.#member(keyword, value, place, hidden);
      if (found !== undefined) members.push([keyword, found]);
    }
    const description = this.#description(schema);
    if (description !== "") members.push(["description", description]);
    const { $ref } = schema;
    if (typeof $ref === "string") members.push(["$ref", this.#refer($ref, place)]);
    const read = Object.fromEntries(members);
    return isNullBeside(schema) ? { anyOf: [read, { type: "null" }] } : read;
  }

  #member(keyword: string, value: unknown, place: Place, hidden: ReadonlySet<string>): unknown {
    if (!isKeywordOf(this.#side, keyword, value)) return undefined;
    const below = { ...place, depth: place.depth + 1, isHead: place.isHead && SAME_VALUE.has(keyword) };
    switch (SCHEMA_KEYWORDS.get(keyword)) {
      case "one":
        // Servers add members to their answers.
        return value === false && this.#side === "output" ? undefined : this.#read(value, below);
      case "list":
        return Array.isArray(value) && value.length > 0 ? value.map((one) => this.#read(one, below)) : undefined;
      case "map":
        return isObject(value) ? this.#map(keyword, value, below, hidden) : undefined;
      case undefined: {
        const found = plainValue(keyword, value);
        if (found !== undefined) this.#parts++;
        if (Array.isArray(found)) this.#document.spend(found.length);
        return keyword === "required" && Array.isArray(found) ? found.filter((name) => !hidden.has(name)) : found;
      }
    }
  }

  #map(keyword: string, map: Json, place: Place, hidden: ReadonlySet<string>): Json {
    const entries = Object.entries(map).filter(([name]) => {
      const isUsable = name.length <= PROPERTY_MAX && (keyword !== "patternProperties" || isPattern(name));
      return isUsable && !(keyword === "properties" && hidden.has(name));
    });
    return Object.fromEntries(
      entries.map(([name, one]) => {
        this.#document.spend(name.length >> 2);
        return [name, this.#read(one, place)];
      }),
    );
  }

  /** Properties that only the other side sends. */
  #hiddenIn(properties: unknown): ReadonlySet<string> {
    const hidden = new Set<string>();
    if (!isObject(properties)) return hidden;
    const flag = this.#side === "input" ? "readOnly" : "writeOnly";
    const all = Object.entries(properties);
    this.#document.spend(all.length);
    for (const [name, schema] of all) {
      if (isObject(schema) && (schema[flag] === true || this.#isFlagged(schema["$ref"], flag))) hidden.add(name);
    }
    return hidden;
  }

  #isFlagged(ref: unknown, flag: string): boolean {
    if (typeof ref !== "string" || !ref.startsWith("#")) return false;
    const target = this.#document.find(ref);
    return isObject(target) && target[flag] === true;
  }

  #refer(ref: string, { refs, heads, isHead }: Place): string {
    let definition = this.#definitions.get(ref);
    if (definition === undefined) {
      const word = ref.slice(ref.lastIndexOf("/") + 1).replaceAll(/[^\w.-]/g, "_");
      const name = word.slice(0, NAME_MAX);
      definition = { ref, name: this.#names.take(name === "" || name in {} ? "schema" : name) };
      this.#definitions.set(ref, definition);
    }
    refs.add(definition);
    if (isHead) heads.add(definition);
    return `#/$defs/${definition.name}`;
  }

  /**
   * With its default as text: as a keyword, it would be filled in and sent, also for a change that leaves other members
   * as they are.
   */
  #description(schema: Json): string {
    const { description, title } = schema;
    const text = [description, title].find((one) => typeof one === "string");
    const byDefault = this.#side === "input" ? defaultOf(schema) : "";
    const said = describedWith(typeof text === "string" ? text : "", byDefault);
    this.#document.spend(said.length >> 2);
    return said;
  }
}

/** A default in words; empty if none exists that fits on a line. */
function defaultOf({ default: value }: Json): string {
  if (!["string", "number", "boolean"].includes(typeof value) && !isLongInteger(value)) return "";
  const cut = typeof value === "string" ? value.slice(0, DEFAULT_MAX) : value;
  return `Default: ${shortText(JSON.stringify(cut), DEFAULT_MAX)}`;
}

/** A description followed by a default. Both have to fit: a description is cut again for display. */
export function describedWith(description: string, byDefault: string): string {
  const shown = shortText(description, DESCRIPTION_MAX - byDefault.length - 2);
  if (shown === "" || byDefault === "") return shown + byDefault;
  return `${shown}${/[.!?…]$/.test(shown) ? "" : "."} ${byDefault}`;
}

/** Whether a value of one of these would have to be checked by a schema in order to be checked by that schema. */
function isEndless(definitions: ReadonlySet<Definition>): boolean {
  const states = new Map<Definition, "open" | "ended">();
  const visit = (definition: Definition): boolean => {
    const state = states.get(definition);
    if (state !== undefined) return state === "open";
    states.set(definition, "open");
    const { reading } = definition;
    const heads = reading === undefined || reading instanceof LeftOut ? [] : [...reading.heads];
    const found = heads.some(visit);
    states.set(definition, "ended");
    return found;
  };
  return [...definitions].some(visit);
}
