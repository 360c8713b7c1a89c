import type { ProgramProblem } from "../../tool/program/problem.ts";
import type { ToolCallPlace } from "../../tool/program/tool-calls.ts";
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
  /** Lines before the program's own in the file that was checked. */
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
/** A name that is nowhere declared is a mistake wherever it stands. */
const UNKNOWN_NAMES: ReadonlySet<string> = new Set(["2304", "2552", "2580", "2584", "2591"]);
/** A member that is missing: certain for tools, whose names are all known. */
const MISSING_MEMBERS: ReadonlySet<string> = new Set(["2339", "2551"]);
/** Types that programs do not write. */
const IMPLICIT = /^7\d{3}$/;
/** Arguments of another type, or without a member. */
const WRONG_ARGUMENTS: ReadonlySet<string> = new Set(["2322", "2345", "2554", "2739", "2740", "2741"]);
/** The end of an expression whose last part is a name of a tool. */
const TOOLS = /\btools((?:\s*\.\s*[\w$]+|\s*\[\s*(?:"[^"\n]*"|'[^'\n]*')\s*\])*)\s*(?:\.\s*|\[\s*["']?)$/;

/** Reads what the compiler wrote. Its words quote the program and schemas, which are strangers'. */
export function readDiagnostics(output: string, program: Program): Diagnosis {
  const problems: ProgramProblem[] = [];
  const warnings: string[] = [];
  const lines = program.code.split("\n");
  for (const text of output.split("\n").slice(0, DIAGNOSTICS_MAX)) {
    const [, row = "", columnText = "", code = "", message = ""] = LINE.exec(text) ?? [];
    if (row === "") continue;
    const line = Number(row) - program.linesBefore;
    const column = Number(columnText);
    const place = {
      line,
      column,
      before: (lines[line - 1] ?? "").slice(Math.max(0, column - 1 - BEFORE_MAX), column - 1),
    };
    const found = judge(code, message, place, program);
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
}

/** The words for a mistake that is certain; `null` for what may be right. */
function judge(
  code: string,
  message: string,
  place: Place,
  { calls, takes, isNamespace, describeMissing }: Program,
): string | null {
  if (UNKNOWN_NAMES.has(code)) return unknownName(message, isNamespace);
  if (MISSING_MEMBERS.has(code)) {
    const [, inner] = TOOLS.exec(place.before) ?? [];
    const [, name, type] = /^Property '([^']+)' does not exist on type '([^']*)'/.exec(message) ?? [];
    if (name !== undefined && type === "string") return textMessage(name);
    if (inner === undefined || name === undefined) return null;
    return describeMissing([...namesIn(inner), name].join("."));
  }
  if (!WRONG_ARGUMENTS.has(code)) return null;
  const call = calls.findLast((one) => isWithin(place, one));
  const type = call === undefined ? undefined : takes(call.tool);
  if (call === undefined || type === undefined) return null;
  const [, missing] = /^Property '([^']+)' is missing in type/.exec(message) ?? [];
  const what = missing === undefined ? message.slice(0, MESSAGE_MAX) : `"${missing}" is missing.`;
  return `${expressionOf(call.tool)}: ${what} It takes ${type}`;
}

/** The name as the compiler shows it, and what stands for it in programs. */
function unknownName(message: string, isNamespace: Program["isNamespace"]): string {
  const said = message.replace(/ Do you need to (?!.*Did you mean).*$/, "").slice(0, MESSAGE_MAX);
  const [, name = ""] = /^Cannot find name '([^']+)'/.exec(said) ?? [];
  if (isNamespace(name)) return `Cannot find name '${name}'. Did you mean ${expressionOf(name)}?`;
  return name === "fetch" ? `${said} A program has no network of its own: call a tool.` : said;
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
