/** A type of TypeScript for values of JSON, as a tree. A reader of schemas makes it, a printer writes it. */
export type TypeNode =
  | {
      readonly kind: "keyword";
      readonly keyword: Keyword;
      /** Why no more is known; printed as a comment. */ readonly note?: string;
    }
  | { readonly kind: "literal"; readonly value: string | number | boolean }
  | { readonly kind: "array"; readonly items: TypeNode }
  | TupleNode
  | ObjectNode
  | { readonly kind: "union" | "intersection"; readonly of: readonly TypeNode[] }
  | { readonly kind: "named"; readonly name: string };

export type Keyword = "string" | "number" | "bigint" | "boolean" | "null" | "undefined" | "unknown" | "never";

export interface TupleNode {
  readonly kind: "tuple";
  readonly items: readonly TypeNode[];
  /** Number of items that are always there. */
  readonly required: number;
  /** Type of further items; `null`: no further items. */
  readonly rest: TypeNode | null;
}

export interface ObjectNode {
  readonly kind: "object";
  readonly members: readonly Member[];
  /** Type of all other properties; `null`: none is named. */
  readonly index: TypeNode | null;
}

export interface Member {
  readonly name: string;
  readonly type: TypeNode;
  readonly isOptional: boolean;
  /** In the schema's own words; not yet escaped for a comment. */
  readonly description: string;
}

/** A named type, to which others refer. */
export interface NamedType {
  readonly name: string;
  readonly type: TypeNode;
  readonly description: string;
}

export const UNKNOWN: TypeNode = Object.freeze({ kind: "keyword", keyword: "unknown" });
export const NEVER: TypeNode = Object.freeze({ kind: "keyword", keyword: "never" });

export function keyword(name: Keyword): TypeNode {
  return { kind: "keyword", keyword: name };
}

/** An unknown type, with the reason. */
export function unknownFor(note: string): TypeNode {
  return { kind: "keyword", keyword: "unknown", note };
}

export function isKeyword(node: TypeNode, name: Keyword): boolean {
  return node.kind === "keyword" && node.keyword === name;
}

/** Whether a type is one word: such a type can be repeated, and compared by its text. */
export function isWord(node: TypeNode): boolean {
  return node.kind === "keyword" || node.kind === "literal" || node.kind === "named";
}

/** Any of these types. */
export function unionOf(types: readonly TypeNode[]): TypeNode {
  const flat = types.flatMap((type) => (type.kind === "union" ? type.of : [type]));
  const unknown = flat.find((type) => isKeyword(type, "unknown"));
  if (unknown !== undefined) return unknown;
  const keywords = new Set(flat.map((type) => (type.kind === "keyword" ? type.keyword : undefined)));
  const seen = new Set<string>();
  const of = flat.filter((type) => {
    if (isKeyword(type, "never")) return false;
    if (!isWord(type)) return true;
    if (type.kind === "literal" && keywords.has(typeof type.value as Keyword)) return false;
    const text = JSON.stringify(type);
    return !seen.has(text) && seen.add(text);
  });
  return of.length > 1 ? { kind: "union", of } : (of[0] ?? NEVER);
}

/** All of these types at once. */
export function intersectionOf(types: readonly TypeNode[]): TypeNode {
  if (types.some((type) => isKeyword(type, "never"))) return NEVER;
  const of = types
    .filter((type) => !isKeyword(type, "unknown"))
    .flatMap((type) => (type.kind === "intersection" ? type.of : [type]));
  return of.length > 1 ? { kind: "intersection", of } : (of[0] ?? types.find(hasNote) ?? UNKNOWN);
}

function hasNote(type: TypeNode): boolean {
  return type.kind === "keyword" && type.note !== undefined;
}
