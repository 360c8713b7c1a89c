import type { ProgramProblem } from "../../kernel/tool/program/problem.ts";
import type { ToolCallPlace } from "../../kernel/tool/program/tool-calls.ts";
import { expressionOf } from "../names.ts";

/** Findings of a check: mistakes that are certain, and the others as warnings. */
export interface Diagnosis {
  readonly problems: readonly ProgramProblem[];
  readonly warnings: readonly string[];
}

/** The program that was checked, and its tools. */
export interface Program {
  readonly code: string;
  readonly calls: readonly ToolCallPlace[];
  /** Its JavaScript, with spaces in place of types. */
  readonly script: string;
  /** Lines before the program's own in the file that was checked, and in its JavaScript. */
  readonly linesBefore: number;
  /** Type of a tool's arguments; `undefined` if there is no such tool. */
  readonly takes: (tool: string) => string | undefined;
  /** Whether `tools` has a member of that name. */
  readonly isNamespace: (name: string) => boolean;
  /** The message about a name that no tool has. */
  readonly describeMissing: (tool: string) => string;
}

const LINE = /^program\.ts\((\d+),(\d+)\): error TS(\d+): (.*)$/;
const DIAGNOSTICS_MAX = 200;
const WARNINGS_MAX = 5;
const MESSAGE_MAX = 300;
/** Characters of a line, before a mistake, that are read: a line may be the whole program. */
const BEFORE_MAX = 300;
/** An undeclared name is a mistake in any place. */
const UNKNOWN_NAMES: ReadonlySet<string> = new Set(["2304", "2552", "2580", "2584", "2591"]);
/** A missing member: certain for tools, whose names are all known. */
const MISSING_MEMBERS: ReadonlySet<string> = new Set(["2339", "2551"]);
/** Types that programs do not write. */
const IMPLICIT = /^7\d{3}$/;
/** Arguments of another type. */
const WRONG_TYPES: ReadonlySet<string> = new Set(["2322", "2345"]);
/** Arguments without a member. */
const MISSING_ARGUMENTS: ReadonlySet<string> = new Set(["2739", "2740", "2741"]);
const WRONG_COUNT = "2554";
/** A value other than an object, for a type whose members are all optional. */
const WEAK_TYPE = "2559";
/** The end of an expression whose last part is a name of a tool. */
const TOOLS = /\btools((?:\s*\.\s*[\w$]+|\s*\[\s*(?:"[^"\n]*"|'[^'\n]*')\s*\])*)\s*(?:\.\s*|\[\s*["']?)$/;

/** Reads the compiler's output. It quotes the program and schemas, which are untrusted. */
export function readDiagnostics(output: string, program: Program): Diagnosis {
  const problems: ProgramProblem[] = [];
  const warnings: string[] = [];
  const lines = program.code.split("\n");
  const scriptLines = program.script.split("\n");
  for (const text of output.split("\n").slice(0, DIAGNOSTICS_MAX)) {
    const [, row = "", columnText = "", code = "", message = ""] = LINE.exec(text) ?? [];
    if (row === "") continue;
    const line = Number(row) - program.linesBefore;
    const column = Number(columnText);
    const place = {
      line,
      column,
      before: (lines[line - 1] ?? "").slice(Math.max(0, column - 1 - BEFORE_MAX), column - 1),
      after: (lines[line - 1] ?? "").slice(column - 1, column - 1 + BEFORE_MAX),
    };
    // A mistake in a type that was taken off does not matter to the program.
    const isErased = scriptLines[Number(row) - 1]?.[column - 1] === " ";
    const found = isErased ? null : judge(code, message, place, program);
    const shown = found ?? message.slice(0, MESSAGE_MAX);
    if (found !== null) problems.push({ line, column, code: `TS${code}`, message: shown });
    else if (warnings.length < WARNINGS_MAX && !IMPLICIT.test(code))
      warnings.push(`${line}:${column} may be wrong: ${shown}`);
  }
  return { problems, warnings };
}

interface Place {
  readonly line: number;
  readonly column: number;
  /** The end of the line's text before the column. */
  readonly before: string;
  /** The beginning of its text from the column on. */
  readonly after: string;
}

/** The message for a certain mistake; `null` for a possibly correct use. */
function judge(code: string, message: string, place: Place, program: Program): string | null {
  const { script, calls, takes, isNamespace, describeMissing } = program;
  if (UNKNOWN_NAMES.has(code)) {
    const [name = ""] = /^[\w$]+/.exec(place.after) ?? [];
    // A program may test whether the name exists.
    return script.includes(`typeof ${name}`) ? null : unknownName(message, isNamespace);
  }
  if (MISSING_MEMBERS.has(code)) {
    const [, inner] = TOOLS.exec(place.before) ?? [];
    const [, name, type] = /^Property '([^']+)' does not exist on type '([^']*)'/.exec(message) ?? [];
    if (name !== undefined && type === "string") return textMessage(name);
    if (inner === undefined || name === undefined) return null;
    return describeMissing([...namesIn(inner), name].join("."));
  }
  if (!isCertain(code, message, place)) return null;
  const call = calls.findLast((one) => isWithin(place, one));
  const type = call === undefined ? undefined : takes(call.tool);
  if (call === undefined || type === undefined) return null;
  const [, missing] = /^Property '([^']+)' is missing in type/.exec(message) ?? [];
  const what = missing === undefined ? message.slice(0, MESSAGE_MAX) : `"${missing}" is missing.`;
  return `${expressionOf(call.tool)}: ${what} It takes ${type}`;
}

/** The name in the compiler's output, and its form in programs. */
function unknownName(message: string, isNamespace: Program["isNamespace"]): string {
  const said = message.replace(/ Do you need to (?!.*Did you mean).*$/, "").slice(0, MESSAGE_MAX);
  const [, name = ""] = /^Cannot find name '([^']+)'/.exec(said) ?? [];
  if (isNamespace(name)) return `Cannot find name '${name}'. Did you mean ${expressionOf(name)}?`;
  return name === "fetch" ? `${said} A program has no network of its own: call a tool.` : said;
}

/** Whether an argument is wrong in any case: its type may be wider than its value. */
function isCertain(code: string, message: string, { after }: Place): boolean {
  // Members may be added to an object after it was made.
  if (MISSING_ARGUMENTS.has(code)) return LITERAL_OBJECT.test(after) && !after.includes("...");
  // A call with more arguments than one is a call with one.
  if (code === WRONG_COUNT) return message.endsWith("but got 0.");
  if (code === WEAK_TYPE) {
    const [, source = ""] = NOTHING_IN_COMMON.exec(message) ?? [];
    return LITERAL.test(source) || PRIMITIVES.has(source) || LIST.test(source);
  }
  if (!WRONG_TYPES.has(code)) return false;
  const [, source = "", target = ""] = NOT_ASSIGNABLE.exec(message) ?? [];
  return areDisjoint(source, target);
}

/** An object literal, perhaps after the name of its member. */
const LITERAL_OBJECT = /^(?:(?:[\w$]+|"[^"]*"|'[^']*')\s*:\s*)?\{/;
const NOT_ASSIGNABLE = /^(?:Type|Argument of type) '(.*)' is not assignable to (?:type|parameter of type) '(.*)'\.$/;
const NOTHING_IN_COMMON = /^Type '(.*)' has no properties in common with type '.*'\.$/;
const LIST = /^[\w<>"]+\[\]$/;
const LITERAL = /^(?:"(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*n?|true|false)$/;
/** Whether a type may have a value of a primitive type in it, by that type. */
const PRIMITIVES: ReadonlyMap<string, RegExp> = new Map([
  ["string", /["`]/],
  ["number", /\d/],
  ["boolean", /true|false/],
  ["bigint", /\dn/],
]);

/** An object with any names, which a list is not. */
const MAP = /^\{ \[\w+: string\]: [^{}]*; \}$/;

/** Whether no value of a type is one of another, which it is not assignable to. Types are as the compiler writes them. */
function areDisjoint(source: string, target: string): boolean {
  if (LITERAL.test(source)) return true;
  const part = PRIMITIVES.get(source);
  if (part !== undefined) return !part.test(target);
  const isPlain = !/[{[A-Z]/.test(target);
  if (source.startsWith("{")) return isPlain && !source.includes("} | ");
  if (!/^\w+\[\]$/.test(source)) return false;
  return (
    isPlain || MAP.test(target) || (/^\w+\[\]$/.test(target) && areDisjoint(source.slice(0, -2), target.slice(0, -2)))
  );
}

function textMessage(member: string): string {
  return `This is a text, and a text has no member ${JSON.stringify(member)}. Use the text itself, or JSON.parse(text) if it is JSON.`;
}

function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/[\w$-]+/g)].map(([name]) => name);
}

function isWithin({ line, column }: Place, call: ToolCallPlace): boolean {
  const isAfter = line > call.line || (line === call.line && column >= call.column);
  return isAfter && (line < call.endLine || (line === call.endLine && column < call.endColumn));
}
