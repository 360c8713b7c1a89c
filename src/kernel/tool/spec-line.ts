import path from "node:path";
import { GloveboxError } from "../base/errors.ts";
import { readFileAt } from "./package/file.ts";

const FILE_MAX = 256 * 1024;
const DECLARATION = /^(?:export\s+(?:const|let|var)\s+)?(TOOL_SPEC|spec)\s*(?::[^=\n]*)?=/m;
const DECORATOR = /^[ \t]*@(tool)\b/m;
const PYTHON_FRAME = /File "\/tool\/([^"\n]{1,300})", line (\d{1,9})/g;
const SCRIPT_FRAME = /^ {4}at (?:[^\n]{0,300} \()?([^\s():]{1,300}):(\d{1,9}):\d{1,9}\)?$/m;
/** Errors in a module's description of its tools, in contrast to errors of its evaluation. */
const OF_SPEC = /is not defined correctly|must export its specification|that JSON cannot hold/;

/** The place of a module's own code in a stack, ` (at tool.py:5)`; empty for a stack without one. */
export function placeInStack(stack: string): string {
  const frame = [...stack.matchAll(PYTHON_FRAME)].at(-1) ?? SCRIPT_FRAME.exec(stack);
  return frame === null ? "" : ` (at ${frame[1]}:${frame[2]})`;
}

/** An error of a module's specification, with the line at which that begins: it may be computed far from there. */
export async function withSpecLine(error: unknown, file: string): Promise<unknown> {
  if (!(error instanceof GloveboxError) || error.code !== "load_error" || !OF_SPEC.test(error.message)) return error;
  const name = path.basename(file);
  const bytes = await readFileAt(file, name, FILE_MAX, true).catch(() => undefined);
  const text = bytes?.toString("utf8") ?? "";
  const found = DECLARATION.exec(text) ?? (name.endsWith(".py") ? DECORATOR.exec(text) : null);
  if (found === null) return error;
  const line = text.slice(0, found.index + found[0].length).split("\n").length;
  return new GloveboxError(error.code, `${error.message} (${found[1]} at ${name}:${line})`, error.details);
}
