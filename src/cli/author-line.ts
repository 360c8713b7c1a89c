import { readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { isObject } from "../kernel/base/json.ts";
import type { ToolError } from "../kernel/base/errors.ts";

const FILE_MAX_BYTES = 1024 * 1024;
const LINE_MAX = 160;
/** A JavaScript stack frame, as the engine writes it: `at name (file.ts:3:9)`. */
const FRAME = /^\s+at (?:.* \()?([^():\n]+):(\d+):(\d+)\)?$/m;
const PYTHON_FRAMES = /^\s+File "([^"\n]+)", line (\d+)/gm;

interface Frame {
  readonly file: string;
  readonly line: number;
  readonly column?: number;
}

/**
 * Source position of an error for the tool's author: file, line and column of the innermost frame and, if the file is
 * in one of the tool locations, the text of the line. `null` if the error has no frame of the tool's own.
 */
export async function authorLine(error: ToolError, tool: string, places: readonly string[]): Promise<string | null> {
  const frame = frameOf(error);
  if (frame === null) return null;
  const file = await findFile(frame.file, tool, places);
  const shown = file === null ? frame.file : relativeTo(process.cwd(), file);
  const at = `  at ${shown}:${frame.line}${frame.column === undefined ? "" : `:${frame.column}`}`;
  const text = file === null ? undefined : (await readFile(file, "utf8")).split(/\r?\n/, frame.line)[frame.line - 1];
  if (text === undefined || text.trim() === "") return at;
  return `${at}\n  ${frame.line} | ${text.length > LINE_MAX ? `${text.slice(0, LINE_MAX)}…` : text}`;
}

function frameOf({ details }: ToolError): Frame | null {
  const stack: unknown = isObject(details) ? Reflect.get(details, "stack") : undefined;
  if (typeof stack !== "string") return null;
  const [, file, line, column] = FRAME.exec(stack) ?? [];
  if (file !== undefined) return { file, line: Number(line), column: Number(column) };
  // Python's innermost frame is the last one.
  const [, last, row] = [...stack.matchAll(PYTHON_FRAMES)].at(-1) ?? [];
  return last === undefined ? null : { file: last, line: Number(row) };
}

/** Resolves the file of a frame. Stacks can be forged by tools, so only files below the tool locations are read. */
async function findFile(name: string, tool: string, places: readonly string[]): Promise<string | null> {
  // Modules of Python lie in the interpreter's folder of tools.
  const own = name.replace(/^\/tool\//, "");
  for (const place of places) {
    const found = await stat(place).catch(() => null);
    if (found === null) continue;
    const root = await realpath(found.isDirectory() ? place : path.dirname(place));
    for (const folder of [path.join(tool, "code"), tool, "code", ""]) {
      const file = await realpath(path.join(root, folder, own)).catch(() => null);
      if (file === null || relativeTo(root, file) === file) continue;
      const { size, isFile } = await stat(file).then((one) => ({ size: one.size, isFile: one.isFile() }));
      if (isFile && size <= FILE_MAX_BYTES) return file;
    }
  }
  return null;
}

/** Path relative to a folder; the full path for files outside of it. */
function relativeTo(folder: string, file: string): string {
  const relative = path.relative(folder, file);
  return relative.startsWith("..") || path.isAbsolute(relative) ? file : relative;
}
