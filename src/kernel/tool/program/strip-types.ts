import { stripTypeScriptTypes } from "node:module";

/** Enums and assertions of one program that are rewritten. */
const REWRITES_MAX = 100;
const ENUM = /^(?:const\s+)?enum\s+([A-Za-z_$][\w$]*)\s*\{/;
/**
 * Blanks and comments. Each comment can end in only one place: otherwise many of them would be tried in all groupings.
 */
const BLANKS = String.raw`(?:\s|\/\/[^\n]*\n|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/)*`;
const EMPTY = new RegExp(`^${BLANKS}$`);
/** A member of an enum: the text before it, its name, and its value. */
const MEMBER = new RegExp(String.raw`^(${BLANKS})([\w$]+|"[^"\n]*"|'[^'\n]*')\s*(?:=([^]*))?$`);

/**
 * A text with spaces in place of its types. Enums and assertions in angle brackets, which are more than types but occur
 * in programs of models, become JavaScript on the same lines. Throws the error of Node's parser.
 */
export function stripTypes(text: string): string {
  let rest = text;
  for (let rewrites = 0; ; rewrites++) {
    try {
      return stripTypeScriptTypes(rest);
    } catch (error) {
      const rewritten = rewrites < REWRITES_MAX ? rewrittenAt(rest, error) : null;
      if (rewritten === null) throw error;
      rest = rewritten;
    }
  }
}

/** `null` if the error is about another construct. */
function rewrittenAt(text: string, error: unknown): string | null {
  const { message, stack = "" } = error instanceof Error ? error : new Error();
  const isEnum = message.startsWith("TypeScript enum is not supported");
  if (!isEnum && !message.startsWith("The angle-bracket syntax for type assertions")) return null;
  const start = placeOf(text, stack, isEnum ? /\b(?:const\s+)?enum\s/ : /<(?=[^<>]*$)/);
  if (start === null) return null;
  const before = text.slice(0, start);
  const after = text.slice(start);
  const rewritten = isEnum ? withoutEnum(after) : withoutAssertion(after);
  return rewritten === null ? null : before + rewritten;
}

/**
 * The offset in the stack: it begins with the line, and has a mark below the column of a construct on one line. `first`
 * finds the start of a construct of several lines.
 */
function placeOf(text: string, stack: string, first: RegExp): number | null {
  const line = Number(/^[^\n]{0,200}:(\d{1,9})\n/.exec(stack)?.[1] ?? 0);
  const lines = text.split("\n", line);
  const column = /\n( {0,65536})\^+\n/.exec(stack)?.[1]?.length ?? first.exec(lines.at(-1) ?? "")?.index;
  if (line < 1 || column === undefined) return null;
  return lines.length < line ? null : lines.slice(0, -1).reduce((sum, one) => sum + one.length + 1, 0) + column;
}

/** `<T>value` without its brackets. */
function withoutAssertion(text: string): string | null {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "<") depth++;
    // Not the arrow of a function's type.
    else if (text[at] === ">" && text[at - 1] !== "=" && --depth === 0)
      return text.slice(0, at + 1).replaceAll(/[^\n]/g, " ") + text.slice(at + 1);
  }
  return null;
}

/** An enum as an object with its members, and the names of those that are numbers. */
function withoutEnum(text: string): string | null {
  const [head = "", name = ""] = ENUM.exec(text) ?? [];
  const members = membersIn(text, head.length);
  if (head === "" || members === null) return null;
  const set = `__${name}_set`;
  const made = members.texts.map((member) => {
    if (EMPTY.test(member)) return member;
    const [, space, own = "", value] = MEMBER.exec(member) ?? [];
    if (space === undefined) return null;
    const key = /^["']/.test(own) ? own : JSON.stringify(own);
    return `${space}${set}(${key}${value === undefined ? "" : `, ${value}`});`;
  });
  if (made.includes(null)) return null;
  const start =
    `var ${name} = {}; { let last = -1; const ${set} = (key, value = last + 1) => { ${name}[key] = value; ` +
    `if (typeof value === "number") ${name}[last = value] = key; };`;
  const lines = head.replaceAll(/[^\n]/g, "");
  return `${start}${lines}${made.join("")}}${text.slice(members.end)}`;
}

/** The texts between the commas of an enum, and the offset after its bracket; `null` if that is not closed. */
function membersIn(text: string, start: number): { readonly texts: readonly string[]; readonly end: number } | null {
  const texts: string[] = [];
  let from = start;
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const skipped = /^(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`|\/\/[^\n]*|\/\*[^]*?\*\/)/.exec(
      text.slice(at, at + LOOK),
    );
    if (skipped !== null) {
      at += skipped[0].length - 1;
      continue;
    }
    const character = text[at] ?? "";
    if ("([{".includes(character)) depth++;
    else if (character === "," && depth === 0) {
      texts.push(text.slice(from, at));
      from = at + 1;
    } else if (")]}".includes(character) && depth-- === 0) {
      texts.push(text.slice(from, at));
      return { texts, end: at + 1 };
    }
  }
  return null;
}

/** Longest string or comment within an enum, in characters. */
const LOOK = 2_000;
