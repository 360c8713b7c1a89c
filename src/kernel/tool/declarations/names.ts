import { INVISIBLE, visibleJson } from "../../base/json.ts";

/**
 * Untrusted names and texts, made safe for a file of TypeScript: none ends a comment or a string, and none is read as
 * an instruction to the compiler.
 */

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const CUT = "…";

/** A property's name: quoted, if it is not a plain identifier. */
export function propertyKey(name: string): string {
  return IDENTIFIER.test(name) ? name : visibleJson(name);
}

/** The lines of a comment that has a text in it, at most `max` characters of it; none without text. */
export function commentLines(text: string, max: number): readonly string[] {
  const cut = text.length > max ? `${text.slice(0, max)}${CUT}` : text;
  const lines = cut
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map(cleanLine)
    .filter((line, at, all) => line !== "" || (at > 0 && all[at - 1] !== ""));
  while (lines.at(-1) === "") lines.pop();
  if (lines.length === 0) return [];
  if (lines.length === 1) return [`/** ${lines[0]} */`];
  return ["/**", ...lines.map((line) => (line === "" ? " *" : ` * ${line}`)), " */"];
}

/** A line without an end of the comment, and without tags: `@ts-ignore` and `@internal` are instructions. */
function cleanLine(line: string): string {
  return line.replaceAll(INVISIBLE, " ").replaceAll("*/", "*\\/").replaceAll("@", "\\@").replaceAll(/\s+/g, " ").trim();
}

/** Words of a name, each with a capital letter, as a part of an identifier: `json-diff` becomes `JsonDiff`. */
export function pascalCase(name: string, max: number): string {
  return name
    .slice(0, max)
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}

/** Unique names in one file. */
export class UniqueNames {
  readonly #used = new Set<string>();
  /** The last number after a name: there may be thousands of similar names, and none is searched twice. */
  readonly #numbers = new Map<string, number>();

  /** The name, with a number after it if it is used already. */
  take(name: string): string {
    let number = this.#numbers.get(name) ?? 1;
    let found = name;
    while (this.#used.has(found)) found = `${name}${++number}`;
    this.#numbers.set(name, number);
    this.#used.add(found);
    return found;
  }
}
