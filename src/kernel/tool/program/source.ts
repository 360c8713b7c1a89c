import { type Node, parse, type Program as Script } from "acorn";
import { memberOf } from "../../base/json.ts";
import { BODY, EXPRESSION, URL_LINE, withoutFence } from "./frame.ts";
import { problemError, type ProgramProblem } from "./problem.ts";
import { PROGRAM_GLOBALS } from "./runner.ts";
import { stripTypes } from "./strip-types.ts";
import { isNode, type ToolCallPlace, toolCallsIn } from "./tool-calls.ts";

/** A program that could be read. */
export interface ReadProgram {
  /** An expression, in JavaScript. */
  readonly text: string;
  readonly calls: readonly ToolCallPlace[];
}

const MODULE_WORDS = /'import', and 'export'/;
const RETURN_WORDS = /^Return statement is not allowed/;
/** Words of the parser for syntax that is more than types: namespaces. */
const STRIP_WORDS = / in (?:strip-only|type strip) mode/;
const MESSAGE_MAX = 500;
const IMPORT_MESSAGE = `a program cannot import or export modules. It has ${PROGRAM_GLOBALS.join(", ")}, console and the language itself`;

/**
 * A program as JavaScript, with its own lines and columns: an expression that is a function, or the promise of a value.
 * `code` is the body of an async function in TypeScript, an async function, or a module with a default export. Throws a
 * `GloveboxError`, `invalid_arguments`, with the problems of a program that cannot be read. Its work is unbounded: for
 * build processes.
 */
export function readProgram(code: string): ReadProgram {
  const text = withoutTypes(withoutFence(code));
  const script = parseScript(text);
  const imports = script.body.flatMap((node) => (isImport(node) ? [importProblem(text, node)] : []));
  if (imports.length > 0) throw problemError(imports);
  const [only, ...others] = script.body.filter(({ type }) => type !== "EmptyStatement");
  const isExpression = others.length === 0 && only?.type === "ExpressionStatement" && isFunction(only.expression);
  const { head, tail } = isExpression ? EXPRESSION : BODY;
  const own = isExpression ? text.slice(0, only.expression.end) : withoutExports(text, script);
  return { text: head + own + tail + URL_LINE, calls: toolCallsIn(script, text) };
}

/** A text with spaces in place of its types. */
function withoutTypes(text: string): string {
  const { head, tail } = BODY;
  let first: ProgramProblem;
  try {
    return stripTypes(head + text + tail).slice(head.length, -tail.length);
  } catch (error) {
    first = problemIn(error, 1);
    if (!MODULE_WORDS.test(first.message)) throw problemError([first]);
  }
  try {
    return stripTypes(text);
  } catch (error) {
    const problem = problemIn(error, 0);
    const isBoth = RETURN_WORDS.test(problem.message);
    throw problemError([isBoth ? { ...first, code: "import", message: IMPORT_MESSAGE } : problem]);
  }
}

/** The problem that an error of the parser names: its stack begins with the line, and a mark below the column. */
function problemIn(error: unknown, linesBefore: number): ProgramProblem {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const line = Number(/^[^\n]{0,200}:(\d{1,9})\n/.exec(stack ?? "")?.[1] ?? 0) - linesBefore;
  const mark = /\n( {0,65536})\^+\n/.exec(stack ?? "")?.[1] ?? "";
  const shown = message.replace(STRIP_WORDS, " in programs").slice(0, MESSAGE_MAX);
  // A bracket that closes the program early is a mistake of all that is around it.
  if (line < 1) return { line: 1, column: 1, code: "syntax", message: shown };
  return { line, column: mark.length + 1, code: "syntax", message: shown };
}

function parseScript(text: string): Script {
  try {
    return parse(text, {
      ecmaVersion: "latest",
      sourceType: "module",
      allowReturnOutsideFunction: true,
      preserveParens: true,
    });
  } catch (error) {
    const place: unknown = memberOf(error, "loc");
    const [line, column] = [Number(memberOf(place, "line") ?? 1), Number(memberOf(place, "column") ?? 0) + 1];
    const message = error instanceof Error ? error.message.replace(/ \(\d+:\d+\)$/, "") : String(error);
    throw problemError([{ line, column, code: "syntax", message: message.slice(0, MESSAGE_MAX) }]);
  }
}

function isImport(node: Script["body"][number]): boolean {
  if (node.type === "ImportDeclaration" || node.type === "ExportAllDeclaration") return true;
  return node.type === "ExportNamedDeclaration" && node.source !== null && node.source !== undefined;
}

function importProblem(text: string, { start }: Node): ProgramProblem {
  const before = text.slice(0, start);
  const lineStart = before.lastIndexOf("\n") + 1;
  const line = before.split("\n").length;
  return { line, column: start - lineStart + 1, code: "import", message: IMPORT_MESSAGE };
}

/** Whether it is a function, perhaps in parentheses, or a call of one. */
function isFunction(node: Node): boolean {
  const { type } = node;
  if (type === "ArrowFunctionExpression" || type === "FunctionExpression") return true;
  const inner: unknown =
    type === "ParenthesizedExpression"
      ? Reflect.get(node, "expression")
      : type === "CallExpression"
        ? calleeOf(node)
        : null;
  return isNode(inner) && isFunction(inner);
}

function calleeOf(node: Node): unknown {
  const callee: unknown = Reflect.get(node, "callee");
  // `main()` is a statement like any other.
  return isNode(callee) && callee.type === "ParenthesizedExpression" ? callee : null;
}

/** A default export is the program's return value. Other exports are declarations. */
function withoutExports(text: string, { body }: Script): string {
  let made = "";
  let done = 0;
  for (const node of body) {
    if (node.type !== "ExportDefaultDeclaration" && node.type !== "ExportNamedDeclaration") continue;
    const { declaration } = node;
    const end = declaration?.start ?? node.end;
    const isDefault = node.type === "ExportDefaultDeclaration";
    made += text.slice(done, node.start) + replaced(text.slice(node.start, end), isDefault ? "return (" : "");
    if (isDefault) made += `${text.slice(end, declaration?.end ?? end)})`;
    done = isDefault ? node.end : end;
  }
  return made + text.slice(done);
}

/** Another text of the same lines and length. */
function replaced(words: string, by: string): string {
  return by + words.slice(by.length).replaceAll(/[^\n]/g, " ");
}
