import { type ReaderOptions, readSchemaTypes, type SchemaTypes } from "./schema-reader.ts";
import { intersectionOf, isKeyword, isWord, type NamedType, type TypeNode, unionOf } from "./type-node.ts";

/** Named types within one another that are written in place. */
const INLINE_MAX = 3;
/** Types in the union that an intersection of unions comes to: TypeScript refuses 100,000, and is slow long before. */
const WIDTH_MAX = 256;

/**
 * The types of a schema in their most readable form: a named type stays one if it refers to itself or is used more than
 * once, any other is written in its place. Parts of an intersection that would make TypeScript multiply large unions
 * are left out.
 */
export function typesOfSchema(schema: unknown, options: ReaderOptions): SchemaTypes {
  const { type, named } = readSchemaTypes(schema, options);
  return new Settlement(named).settle(type);
}

class Settlement {
  readonly #named: ReadonlyMap<string, NamedType>;
  readonly #references: ReadonlyMap<string, readonly string[]>;
  readonly #widths = new Map<string, number>();
  readonly #kept = new Set<string>();

  constructor(named: readonly NamedType[]) {
    this.#named = new Map(named.map((one) => [one.name, one]));
    this.#references = new Map(named.map((one) => [one.name, namesIn(one.type)]));
  }

  settle(root: TypeNode): SchemaTypes {
    const uses = new Map<string, number>();
    for (const name of [...namesIn(root), ...[...this.#references.values()].flat()]) {
      uses.set(name, (uses.get(name) ?? 0) + 1);
    }
    const stays = (name: string): boolean => (uses.get(name) ?? 0) > 1 || this.#isRecursive(name);
    const type = this.#settle(root, 0, stays);
    const named: NamedType[] = [];
    // Names are added while others are written.
    for (const name of this.#kept) {
      const found = this.#named.get(name);
      if (found !== undefined) named.push({ ...found, type: this.#settle(found.type, 0, stays) });
    }
    return { type, named };
  }

  #settle(node: TypeNode, inlined: number, stays: (name: string) => boolean): TypeNode {
    const settle = (one: TypeNode): TypeNode => this.#settle(one, inlined, stays);
    switch (node.kind) {
      case "keyword":
      case "literal":
        return node;
      case "named": {
        const found = this.#named.get(node.name);
        if (found === undefined) return node;
        if (isWord(found.type) || (inlined < INLINE_MAX && !stays(node.name))) {
          return this.#settle(found.type, inlined + 1, stays);
        }
        this.#kept.add(node.name);
        return node;
      }
      case "array":
        return { ...node, items: settle(node.items) };
      case "tuple":
        return { ...node, items: node.items.map(settle), rest: node.rest && settle(node.rest) };
      case "object":
        return {
          ...node,
          members: node.members.map((member) => ({ ...member, type: settle(member.type) })),
          index: node.index && settle(node.index),
        };
      case "union":
        return unionOf(node.of.map(settle));
      case "intersection":
        return intersectionOf(this.#narrow(node.of.map(settle)));
    }
  }

  /** The parts of an intersection that come to a union of a size that can be checked. */
  #narrow(parts: readonly TypeNode[]): readonly TypeNode[] {
    let width = 1;
    return parts.filter((part) => {
      const wider = width * this.#widthOf(part);
      if (wider > WIDTH_MAX && width > 1) return false;
      width = wider;
      return true;
    });
  }

  #widthOf(node: TypeNode): number {
    switch (node.kind) {
      case "union":
        return node.of.reduce((sum, one) => sum + this.#widthOf(one), 0);
      case "intersection":
        return node.of.reduce((product, one) => product * this.#widthOf(one), 1);
      case "named":
        return this.#widthOfNamed(node.name);
      case "keyword":
      case "literal":
      case "array":
      case "tuple":
      case "object":
        return isKeyword(node, "boolean") ? 2 : 1;
    }
  }

  #widthOfNamed(name: string): number {
    const known = this.#widths.get(name);
    if (known !== undefined) return known;
    const found = this.#named.get(name);
    // No named type is a part of itself, so this ends.
    const width = found === undefined ? 1 : this.#widthOf(found.type);
    this.#widths.set(name, width);
    return width;
  }

  #isRecursive(name: string): boolean {
    const seen = new Set<string>();
    const open = [...(this.#references.get(name) ?? [])];
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      if (one === name) return true;
      if (seen.has(one)) continue;
      seen.add(one);
      open.push(...(this.#references.get(one) ?? []));
    }
    return false;
  }
}

/** The named types to which a type refers, each as often as it does. */
function namesIn(node: TypeNode): string[] {
  switch (node.kind) {
    case "named":
      return [node.name];
    case "keyword":
    case "literal":
      return [];
    case "array":
      return namesIn(node.items);
    case "tuple":
      return [...node.items, ...(node.rest === null ? [] : [node.rest])].flatMap(namesIn);
    case "object":
      return [...node.members.map(({ type }) => type), ...(node.index === null ? [] : [node.index])].flatMap(namesIn);
    case "union":
    case "intersection":
      return node.of.flatMap(namesIn);
  }
}
