import { visibleJson } from "../../base/json.ts";
import { commentLines, propertyKey } from "./names.ts";
import type { Member, ObjectNode, TupleNode, TypeNode } from "./type-node.ts";

const WIDTH = 120;
const INDENT = "  ";
/** Length of a property's description, in UTF-16 units. */
const DESCRIPTION_MAX = 500;

/** A member's or a type's name, and the type: a long union begins on its own line. */
export function after(head: string, type: string): string {
  return type.startsWith("\n") ? `${head}${type}` : `${head} ${type}`;
}

export interface PrintStyle {
  /** Written before members and arrays: `readonly `, or nothing. */
  readonly modifier: "readonly " | "";
  /** Length of a property's description, in UTF-16 units; 0 for none. */
  readonly descriptionMax: number;
  /** The word for an unknown type. Default: `unknown`. */
  readonly unknown?: "any";
}

const FILE_STYLE: PrintStyle = { modifier: "readonly ", descriptionMax: DESCRIPTION_MAX };

/**
 * A type as text. Types that fit into the rest of a line are written into it; objects with descriptions, and those that
 * do not fit, have a line for each member. `indent`: that of the first line; `column`: start of the type.
 */
export function printType(node: TypeNode, indent = "", column = indent.length, style = FILE_STYLE): string {
  return new TypePrinter(style).print(node, indent, column);
}

class TypePrinter {
  readonly #style: PrintStyle;
  /** Types on one line; `null` if they have comments. */
  readonly #flat = new Map<TypeNode, string | null>();

  constructor(style: PrintStyle) {
    this.#style = style;
  }

  print(node: TypeNode, indent: string, column: number): string {
    const flat = this.#flatOf(node);
    if (flat !== null && column + flat.length < WIDTH) return flat;
    const print = (one: TypeNode): string => this.print(one, indent, indent.length);
    switch (node.kind) {
      case "keyword":
      case "literal":
      case "named":
        return flat ?? "unknown";
      case "array":
        return writeArray(node.items, print, this.#style.modifier);
      case "tuple":
        return writeTuple(node, print, this.#style.modifier);
      case "object":
        return this.#printObject(node, indent);
      case "union": {
        const below = indent + INDENT;
        return node.of
          .map((one) => `\n${below}| ${inParentheses(one, this.print(one, below, below.length + 2), "union")}`)
          .join("");
      }
      case "intersection":
        return node.of.map((one) => inParentheses(one, print(one), "intersection")).join(" & ");
    }
  }

  #printObject({ members, index }: ObjectNode, indent: string): string {
    const below = indent + INDENT;
    const { modifier, descriptionMax } = this.#style;
    const lines = members.flatMap((member) => {
      const head = headOf(member, modifier);
      const comment = descriptionMax === 0 ? [] : commentLines(member.description, descriptionMax);
      return [
        ...comment.map((line) => below + line),
        `${below}${after(head, this.print(member.type, below, below.length + head.length + 2))};`,
      ];
    });
    const key = modifier + INDEX;
    if (index !== null) lines.push(`${below}${after(key, this.print(index, below, below.length + key.length + 2))};`);
    return lines.length === 0 ? "{}" : `{\n${lines.join("\n")}\n${indent}}`;
  }

  #flatOf(node: TypeNode): string | null {
    const known = this.#flat.get(node);
    if (known !== undefined) return known;
    const flat = this.#writeFlat(node);
    // A type that is too long for a line is not written on one.
    const kept = flat !== null && flat.length > WIDTH && !isAtom(node) ? null : flat;
    this.#flat.set(node, kept);
    return kept;
  }

  #writeFlat(node: TypeNode): string | null {
    let isWhole = true;
    const write = (one: TypeNode): string => {
      const text = this.#flatOf(one);
      isWhole &&= text !== null;
      return text ?? "";
    };
    const text = flatText(node, write, this.#style);
    return isWhole ? text : null;
  }
}

function flatText(
  node: TypeNode,
  write: (node: TypeNode) => string,
  { modifier, descriptionMax, unknown }: PrintStyle,
): string | null {
  switch (node.kind) {
    case "keyword":
      if (unknown !== undefined && node.keyword === "unknown") return unknown;
      return node.note === undefined ? node.keyword : `${node.keyword} /* ${node.note} */`;
    case "literal":
      return typeof node.value === "string" ? visibleJson(node.value) : String(node.value);
    case "named":
      return node.name;
    case "array":
      return writeArray(node.items, write, modifier);
    case "tuple":
      return writeTuple(node, write, modifier);
    case "union":
    case "intersection":
      return node.of
        .map((one) => inParentheses(one, write(one), node.kind))
        .join(node.kind === "union" ? " | " : " & ");
    case "object": {
      if (descriptionMax > 0 && node.members.some(({ description }) => description !== "")) return null;
      const members = node.members.map((member) => `${headOf(member, modifier)} ${write(member.type)}`);
      if (node.index !== null) members.push(`${modifier}${INDEX} ${write(node.index)}`);
      return members.length === 0 ? "{}" : `{ ${members.join("; ")} }`;
    }
  }
}

const INDEX = "[key: string]:";

function headOf({ name, isOptional }: Member, modifier: string): string {
  return `${modifier}${propertyKey(name)}${isOptional ? "?" : ""}:`;
}

function writeArray(items: TypeNode, write: (node: TypeNode) => string, modifier: string): string {
  return `${modifier}${inParentheses(items, write(items), "array")}[]`;
}

function writeTuple({ items, required, rest }: TupleNode, write: (node: TypeNode) => string, modifier: string): string {
  const parts = items.map((item, at) =>
    at < required ? write(item) : `${inParentheses(item, write(item), "array")}?`,
  );
  if (rest !== null) parts.push(`...${writeArray(rest, write, "")}`);
  return `${modifier}[${parts.join(", ")}]`;
}

function isAtom({ kind }: TypeNode): boolean {
  return kind === "keyword" || kind === "literal" || kind === "named";
}

/** A type within another one: in parentheses, if it binds less. */
function inParentheses(node: TypeNode, text: string, within: "union" | "intersection" | "array"): string {
  const isLoose =
    node.kind === "union"
      ? within !== "union"
      : within === "array" && (node.kind === "intersection" || node.kind === "array" || node.kind === "tuple");
  return isLoose ? `(${text})` : text;
}
