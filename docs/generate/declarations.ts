import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SRC = fileURLToPath(new URL("../../src", import.meta.url));

/** A property of an exported interface or class, with its doc comment. */
export interface Member {
  readonly name: string;
  readonly isOptional: boolean;
  readonly type: string;
  readonly doc: string;
}

const sources: readonly string[] = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  // Two packages may use a name: the kernel's is the public one.
  .toSorted((a, b) => Number(b.startsWith("kernel")) - Number(a.startsWith("kernel")))
  .map((name) => readFileSync(join(SRC, name), "utf8"));

/** The properties of an exported interface or class, whichever file declares it. Throws where none does. */
export function membersOf(name: string): readonly Member[] {
  const declaration = new RegExp(`export (?:interface|class) ${name}\\b[^{]*`);
  for (const text of sources) {
    const found = declaration.exec(text);
    if (found === null) continue;
    const base = / extends (\w+) $/.exec(found[0])?.[1];
    const inherited = base === undefined || !isExported(base) ? [] : membersOf(base);
    return [...inherited, ...readMembers(text.slice(found.index + found[0].length))];
  }
  throw new Error(`src exports no interface and no class ${name}`);
}

function isExported(name: string): boolean {
  return sources.some((text) => new RegExp(`export (?:interface|class) ${name}\\b`).test(text));
}

/** The properties of an object type written in place: `{ readonly name: string }`. */
export function readMembers(text: string): readonly Member[] {
  return statements(text).flatMap((statement) => {
    const { doc, rest } = splitDoc(statement);
    const found = /^(?:get |readonly )*"?([\w:]+)"?(\?)?(?:\(\))?:([\s\S]*)$/.exec(rest);
    if (found === null) return [];
    const [, name = "", optional, type = ""] = found;
    return [{ name, isOptional: optional === "?", type: type.replaceAll(/\s+/g, " ").trim(), doc }];
  });
}

/** What a doc comment says, on one line, and what follows it. */
function splitDoc(statement: string): { readonly doc: string; readonly rest: string } {
  const [, comment = "", rest = statement] = /^\s*(?:\/\*\*([\s\S]*?)\*\/)?\s*([\s\S]*)$/.exec(statement) ?? [];
  const doc = comment
    .replaceAll(/\n\s*\*/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  return { doc, rest: rest.trim() };
}

/** The statements of the first block in a text, each with the comment before it. */
function statements(text: string): readonly string[] {
  const found: string[] = [];
  let depth = 0;
  let current = "";
  for (let at = text.indexOf("{"); at < text.length; at++) {
    const comment = /^\/\*[\s\S]*?\*\/|^\/\/.*/.exec(text.slice(at, at + 4_000))?.[0];
    if (comment !== undefined) {
      current += comment;
      at += comment.length - 1;
      continue;
    }
    const character = text[at] ?? "";
    if ("}])".includes(character)) depth--;
    if (depth === 0 && character === "}") break;
    if (depth === 1 && character === ";") {
      found.push(current);
      current = "";
    } else if (depth > 0) current += character;
    if ("{[(".includes(character)) depth++;
  }
  return current.trim() === "" ? found : [...found, current];
}
