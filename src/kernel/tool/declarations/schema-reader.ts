import { digitsOf } from "../../base/exact-json.ts";
import { isObject } from "../../base/json.ts";
import { dialectOf } from "../../base/schema/schema-dialect.ts";
import type { SchemaSide } from "../../base/schema/from-json-schema.ts";
import { pascalCase, UniqueNames } from "./names.ts";
import { findSchema } from "./references.ts";
import {
  intersectionOf,
  isKeyword,
  isWord,
  keyword,
  type Member,
  type NamedType,
  NEVER,
  type ObjectNode,
  type TypeNode,
  unionOf,
  UNKNOWN,
  unknownFor,
} from "./type-node.ts";

/** Levels of a schema, without those of referenced schemas. */
const DEPTH_MAX = 24;
/** Schemas and values that are read of one schema. */
const NODES_MAX = 2_000;
/** Characters of names, literals and descriptions that are taken from one schema. */
const CHARS_MAX = 64 * 1024;
const NAMED_MAX = 200;
const ENUM_MAX = 200;
const TUPLE_MAX = 64;
const DESCRIPTION_MAX = 500;
const DEFAULT_MAX = 100;
const NAME_MAX = 64;

const TOO_DEEP = unknownFor("nested too deeply");
const TOO_LARGE = unknownFor("the schema is too large");
const UNRESOLVED = unknownFor("the reference is not found");
const CIRCULAR = unknownFor("refers to itself");

type Json = Readonly<Record<string, unknown>>;
type Kind = "string" | "number" | "boolean" | "array" | "object" | "null";

const KINDS: readonly Kind[] = ["string", "number", "boolean", "array", "object", "null"];
const ANY: ReadonlySet<Kind> = new Set(KINDS);
const OBJECT: ReadonlySet<Kind> = new Set(["object"]);

/** Place of a schema. */
interface Place {
  /** Kinds of value that the schemas around it allow here. */
  readonly kinds: ReadonlySet<Kind>;
  readonly depth: number;
  /** Whether defaults are filled in here: not below `anyOf` and `oneOf`. */
  readonly fills: boolean;
  /** The named type that this is, or a part of a union or intersection that it is. */
  readonly owner: Named | null;
  /** The schema to which references are relative. */
  readonly resource: Json;
}

/** A schema that is referred to. */
class Named {
  readonly name: string;
  readonly schema: unknown;
  readonly resource: Json;
  /** Named types that this one is, or is a union or an intersection of: a cycle of them is an error of TypeScript. */
  readonly heads = new Set<Named>();
  type: TypeNode = UNKNOWN;

  constructor(name: string, schema: unknown, resource: Json) {
    this.name = name;
    this.schema = schema;
    this.resource = resource;
  }

  leadsTo(other: Named): boolean {
    const open: Named[] = [this];
    const seen = new Set<Named>(open);
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      if (one === other) return true;
      for (const next of one.heads) {
        if (seen.has(next)) continue;
        seen.add(next);
        open.push(next);
      }
    }
    return false;
  }
}

export interface ReaderOptions {
  /** Whether the type is for values from callers or for answers: they differ in defaults. */
  readonly side: SchemaSide;
  /** Name of the schema's own type, and the beginning of the names of those that it refers to. */
  readonly name: string;
  /** Whether an object type declares that there may be other members. Default: it omits that, as people do. */
  readonly isExact?: boolean;
  /**
   * Type of integers beyond 2^53 − 1, of a `format` that has them: in isolates they are `bigint`s. Default: the embedder's,
   * strings of digits.
   */
  readonly longIntegers?: "bigint" | "string";
}

/** Formats of integers that a number may not hold. */
const LONG_FORMATS: ReadonlySet<unknown> = new Set(["int64", "uint64"]);

/** The type of a schema, and those with names that it needs. */
export interface SchemaTypes {
  readonly type: TypeNode;
  readonly named: readonly NamedType[];
}

/**
 * The type of the values that a schema accepts, or a wider one: keywords without an equivalent in types are ignored.
 * The schema is untrusted: the work on it is bounded, and parts beyond the bound are `unknown`.
 */
export function readSchemaTypes(schema: unknown, options: ReaderOptions): SchemaTypes {
  return new SchemaReader(options).readAll(schema);
}

class SchemaReader {
  readonly #options: ReaderOptions;
  readonly #named = new Map<object, Named>();
  readonly #names = new UniqueNames();
  readonly #open: Named[] = [];
  #nodes = 0;
  #chars = 0;
  #hasPrefixItems = true;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  readAll(schema: unknown): SchemaTypes {
    const resource = isObject(schema) ? schema : {};
    // Other dialects ignore the word, though authors mean it.
    this.#hasPrefixItems = this.#options.isExact !== true || dialectOf(resource) === "2020-12";
    // Arguments are an object with any schema.
    const kinds = this.#options.side === "input" ? OBJECT : ANY;
    const type = this.#read(schema, { kinds, depth: 0, fills: true, owner: null, resource });
    for (let named = this.#open.pop(); named !== undefined; named = this.#open.pop()) {
      const { schema: definition, resource: own } = named;
      named.type = this.#read(definition, { kinds: ANY, depth: 0, fills: true, owner: named, resource: own });
    }
    const named = [...this.#named.values()].map((one) => ({
      name: one.name,
      type: one.type,
      description: descriptionOf(one.schema),
    }));
    return { type, named };
  }

  /** Whether there is room for another node, with this number of characters of the schema in it. */
  #take(chars: number): boolean {
    if (this.#nodes >= NODES_MAX || this.#chars + chars > CHARS_MAX) return false;
    this.#nodes++;
    this.#chars += chars;
    return true;
  }

  #read(schema: unknown, place: Place): TypeNode {
    if (schema === false) return NEVER;
    if (!isObject(schema)) return place.kinds.size < KINDS.length ? this.#structure({}, place) : UNKNOWN;
    if (place.depth > DEPTH_MAX) return TOO_DEEP;
    if (!this.#take(0)) return TOO_LARGE;
    const kinds = kindsOf(schema).intersection(place.kinds);
    if (kinds.size === 0) return NEVER;
    const here = { ...place, kinds, resource: resourceOf(schema, place.resource) };
    return this.#combine(schema, here);
  }

  #combine(schema: Json, place: Place): TypeNode {
    const below = { ...place, depth: place.depth + 1 };
    const parts = [
      ...schemasIn(schema["allOf"]).map((one) => this.#read(one, below)),
      ...["anyOf", "oneOf"].flatMap((name) => {
        const any = schemasIn(schema[name]).map((one) => this.#read(one, { ...below, fills: false }));
        return any.length === 0 ? [] : [unionOf(any)];
      }),
    ];
    const { $ref } = schema;
    if (typeof $ref === "string") parts.unshift(this.#refer($ref, place));
    const literals = literalsOf(schema);
    const own = literals === null ? this.#structure(schema, place) : this.#literals(literals, place);
    const isTold = parts.some((part) => !isKeyword(part, "unknown"));
    const all = intersectionOf(isTold && isBare(own) ? parts : [own, ...parts]);
    // The checker of programs ignores `null`: the rest of types that share only `null` would refuse it.
    return this.#options.isExact === true && all.kind === "intersection" && all.of.every(mayBeNull) ? UNKNOWN : all;
  }

  #refer(ref: string, { resource, owner }: Place): TypeNode {
    const schema = findSchema(resource, ref);
    if (schema === undefined) return UNRESOLVED;
    if (!isObject(schema)) return schema === false ? NEVER : UNKNOWN;
    const named = this.#named.get(schema) ?? this.#name(schema, ref, resource);
    if (named === null) return TOO_LARGE;
    if (owner !== null) {
      if (named.leadsTo(owner)) return CIRCULAR;
      owner.heads.add(named);
    }
    return { kind: "named", name: named.name };
  }

  #name(schema: Json, ref: string, resource: Json): Named | null {
    if (this.#named.size >= NAMED_MAX) return null;
    const { name } = this.#options;
    const word = pascalCase(ref.slice(ref.lastIndexOf("/") + 1).replace(/^#/, ""), NAME_MAX);
    const named = new Named(this.#names.take(word === "" ? name : `${name}_${word}`), schema, resource);
    this.#named.set(schema, named);
    this.#open.push(named);
    return named;
  }

  #literals(values: readonly unknown[], place: Place): TypeNode {
    const allowed = values.filter((value) => place.kinds.has(kindOf(value)));
    if (allowed.length <= ENUM_MAX) return unionOf(allowed.map((value) => this.#literal(value, place.depth)));
    const kinds = new Set(allowed.map(kindOf));
    return this.#structure({}, { ...place, kinds });
  }

  #literal(value: unknown, depth: number): TypeNode {
    if (depth > DEPTH_MAX) return TOO_DEEP;
    if (!this.#take(typeof value === "string" ? value.length : 8)) return TOO_LARGE;
    if (value === null) return keyword("null");
    if (typeof value === "string" || typeof value === "boolean") return { kind: "literal", value };
    if (typeof value === "number") return Number.isFinite(value) ? { kind: "literal", value } : keyword("number");
    if (Array.isArray(value)) {
      if (value.length > TUPLE_MAX) return { kind: "array", items: UNKNOWN };
      const items = value.map((item) => this.#literal(item, depth + 1));
      return { kind: "tuple", items, required: items.length, rest: null };
    }
    if (!isObject(value)) return UNKNOWN;
    if (digitsOf(value) !== null) return keyword(this.#options.longIntegers ?? "string");
    const members: Member[] = [];
    for (const [name, one] of Object.entries(value)) {
      if (!this.#take(name.length)) return { kind: "object", members, index: TOO_LARGE };
      members.push({ name, type: this.#literal(one, depth + 1), isOptional: false, description: "" });
    }
    return { kind: "object", members, index: null };
  }

  /** The type by a schema's own `type`, properties and items. */
  #structure(schema: Json, place: Place): TypeNode {
    if (place.kinds.size === KINDS.length) return UNKNOWN;
    return unionOf([...place.kinds].map((kind) => this.#structureOf(kind, schema, place)));
  }

  #structureOf(kind: Kind, schema: Json, place: Place): TypeNode {
    switch (kind) {
      case "array":
        return this.#array(schema, place);
      case "object":
        return this.#object(schema, place);
      case "string":
      case "number":
      case "boolean":
      case "null":
        return kind === "number" && LONG_FORMATS.has(schema["format"])
          ? unionOf([keyword(kind), keyword(this.#options.longIntegers ?? "string")])
          : keyword(kind);
    }
  }

  #inside(schema: unknown, { depth, fills, resource }: Place): TypeNode {
    return this.#read(schema, { kinds: ANY, depth: depth + 1, fills, owner: null, resource });
  }

  #array(schema: Json, place: Place): TypeNode {
    const { items, additionalItems, minItems, maxItems } = schema;
    const prefixItems = this.#hasPrefixItems ? schema["prefixItems"] : undefined;
    const listed = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
    const others = Array.isArray(prefixItems) ? items : Array.isArray(items) ? additionalItems : items;
    if (listed.length > TUPLE_MAX) return { kind: "array", items: UNKNOWN };
    const rest = this.#inside(others ?? true, place);
    if (listed.length === 0) return { kind: "array", items: rest };
    const isClosed = isKeyword(rest, "never") || (typeof maxItems === "number" && maxItems <= listed.length);
    return {
      kind: "tuple",
      items: listed.map((item: unknown) => this.#inside(item, place)),
      required: typeof minItems === "number" ? Math.min(Math.max(Math.floor(minItems), 0), listed.length) : 0,
      rest: isClosed ? null : rest,
    };
  }

  #object(schema: Json, place: Place): TypeNode {
    const { additionalProperties, patternProperties } = schema;
    const required = new Set(Array.isArray(schema["required"]) ? schema["required"].filter(isText) : []);
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    const members: Member[] = [];
    for (const name of Object.keys(properties)) {
      if (!this.#take(name.length)) return { kind: "object", members, index: TOO_LARGE };
      members.push(this.#member(name, properties[name], required.has(name), place));
    }
    const patterns = isObject(patternProperties) ? Object.values(patternProperties) : [];
    const isOpen = additionalProperties === undefined && patterns.length === 0;
    const isNamed = members.length + required.size > 0;
    const index =
      isOpen && isNamed && this.#options.isExact !== true
        ? null
        : this.#index(additionalProperties, patterns, members, place);
    for (const name of required) {
      if (Object.hasOwn(properties, name)) continue;
      if (!this.#take(name.length)) return { kind: "object", members, index: TOO_LARGE };
      members.push({ name, type: index ?? UNKNOWN, isOptional: false, description: "" });
    }
    return { kind: "object", members, index };
  }

  #member(name: string, schema: unknown, isRequired: boolean, place: Place): Member {
    const hasDefault = place.fills && isObject(schema) && Object.hasOwn(schema, "default");
    const isOptional = this.#options.side === "input" ? !isRequired || hasDefault : !isRequired && !hasDefault;
    const description = descriptionOf(schema);
    const type = this.#inside(schema, place);
    return { name, type, isOptional, description: this.#take(description.length) ? description : "" };
  }

  /** Type of the properties that have no schema of their own. */
  #index(additional: unknown, patterns: readonly unknown[], members: readonly Member[], place: Place): TypeNode | null {
    if (additional === false && patterns.length === 0) return members.length === 0 ? NEVER : null;
    const others = [...patterns, additional ?? true].map((one) => this.#inside(one, place));
    if (members.length === 0) return unionOf(others);
    // A union with the types of members would be wider than the declared members.
    if (this.#options.isExact === true && this.#options.side === "output") return UNKNOWN;
    // TypeScript requires that the members have this type as well. Repeating long types would make them longer still.
    const types = members.map(({ type }) => type);
    if (!types.every(isWord)) return UNKNOWN;
    const missing = members.some(({ isOptional }) => isOptional) ? [keyword("undefined")] : [];
    return unionOf([...others, ...types, ...missing]);
  }
}

/** A named type may be anything. */
function mayBeNull(node: TypeNode): boolean {
  return node.kind === "named" || (node.kind === "union" && node.of.some((one) => isKeyword(one, "null")));
}

/** Whether a type is any object or any list. */
function isBare(node: TypeNode): boolean {
  if (node.kind === "array") return isKeyword(node.items, "unknown");
  return node.kind === "object" && isEmpty(node);
}

function isEmpty({ members, index }: ObjectNode): boolean {
  return members.length === 0 && index !== null && isKeyword(index, "unknown");
}

/** Kinds that a schema's own `type` allows. */
function kindsOf({ type, nullable }: Json): Set<Kind> {
  const names = (Array.isArray(type) ? type : [type]).map((name: unknown) => (name === "integer" ? "number" : name));
  const kinds = KINDS.filter((kind) => names.includes(kind));
  if (kinds.length === 0) return new Set(KINDS);
  return new Set(nullable === true ? [...kinds, "null"] : kinds);
}

function kindOf(value: unknown): Kind {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return typeof value as "string" | "number" | "boolean";
    default:
      return typeof value === "object" && digitsOf(value) !== null ? "number" : "object";
  }
}

/** The only values that a schema allows; `null` if it does not list them. */
function literalsOf(schema: Json): readonly unknown[] | null {
  if (Object.hasOwn(schema, "const")) return [schema["const"]];
  return Array.isArray(schema["enum"]) ? schema["enum"] : null;
}

function schemasIn(list: unknown): readonly unknown[] {
  return Array.isArray(list) ? list : [];
}

/** References are relative to the nearest schema with an `$id`. */
function resourceOf(schema: Json, around: Json): Json {
  const { $id } = schema;
  return typeof $id === "string" && !$id.startsWith("#") ? schema : around;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** The description of a schema, with its default. */
function descriptionOf(schema: unknown): string {
  if (!isObject(schema)) return "";
  const { description } = schema;
  const said = isText(description) ? description.slice(0, DESCRIPTION_MAX) : "";
  if (!Object.hasOwn(schema, "default")) return said;
  const { default: value } = schema;
  if (typeof value === "object" && value !== null && digitsOf(value) === null) return said;
  const text = JSON.stringify(value) ?? "";
  if (text.length > DEFAULT_MAX) return said;
  return `${said}${said === "" ? "" : " "}Default: ${text}`;
}
