import { SourceMap } from "node:module";
import type { Runtime } from "../../base/protocol/script.ts";

const MAX_STACK = 64 * 1024;
const MAX_MESSAGE = 1024;
const MAX_FRAMES = 10;
const MAX_RESULT = 4096;
const MAX_NAME = 80;
/** Parsing a map takes about fifty times its size in memory. */
const MAX_MAP = 4 * 1024 * 1024;
const FRAME = /^\s{0,8}at /;

/** Parses a bundle's source map; `undefined` if it is too large or invalid: frames then keep the bundle's lines. */
export function readSourceMap(json: string): SourceMap | undefined {
  if (json.length > MAX_MAP) return undefined;
  try {
    return new SourceMap(JSON.parse(json));
  } catch {
    return undefined;
  }
}

/**
 * Turns a stack from inside an isolate into one for the tool's author: the message, then the tool's own frames at the
 * lines of its sources. Frames of the engine and everything about the host are removed. The tool controls the text of
 * the stack, so it is cut before it is parsed.
 */
export function mapStack(stack: string, map: SourceMap | string | undefined, scriptName: string): string {
  const sourceMap = typeof map === "string" ? readSourceMap(map) : map;
  const lines = stack.slice(0, MAX_STACK).split("\n");
  const first = lines.findIndex((line) => FRAME.test(line));
  const message = (first === -1 ? lines : lines.slice(0, first)).join("\n").slice(0, MAX_MESSAGE);
  const result = [message];
  for (const line of first === -1 ? [] : lines.slice(first)) {
    if (result.length > MAX_FRAMES) break;
    const frame = FRAME.test(line) ? mapFrame(line.trim(), sourceMap, scriptName) : undefined;
    if (frame !== undefined) result.push(frame);
  }
  return result.join("\n").slice(0, MAX_RESULT);
}

function mapFrame(line: string, map: SourceMap | undefined, scriptName: string): string | undefined {
  const at = line.lastIndexOf(`${scriptName}:`);
  if (at === -1 || line.length > MAX_MESSAGE) return undefined;
  const position = /^(\d{1,9}):(\d{1,9})\)*$/.exec(line.slice(at + scriptName.length + 1));
  if (position === null) return undefined;
  const [row, column] = [Number(position[1]), Number(position[2])];
  const place = map === undefined ? `tool.js:${row}:${column}` : mapPlace(map, row, column);
  if (place === undefined) return undefined;
  const name = functionName(line.slice("at ".length, at));
  return name === "" ? `    at ${place}` : `    at ${name} (${place})`;
}

/** V8 counts lines and columns from 1, source maps from 0. */
function mapPlace(map: SourceMap, row: number, column: number): string | undefined {
  const entry = map.findEntry(row - 1, column - 1);
  if (!("originalSource" in entry) || typeof entry.originalSource !== "string") return undefined;
  return `${relativeName(entry.originalSource)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

function relativeName(source: string): string {
  const isInside = !/^[/\\]|[:\\]|(?:^|\/)\.\.(?:\/|$)/.test(source);
  return isInside ? source : (source.split(/[/\\]/).pop() ?? "");
}

/** A tool may give a function any name, so only ordinary names are shown, without a leading `Object.`. */
function functionName(text: string): string {
  const name = text
    .replace(/\($/, "")
    .trim()
    .replace(/^Object\./, "")
    .replace(/ \[as [^\]]{0,80}\]$/, "");
  return name.length <= MAX_NAME && /^[\p{L}\p{N}_$.#<>[\] ]*$/u.test(name) ? name : "";
}

/**
 * Shortens Python's traceback: its frames already have the tool's own lines, and its files do not exist on the host.
 * The last frames matter most, so a long traceback loses its middle.
 */
export function cutTraceback(stack: string): string {
  const text = stack.length > MAX_STACK ? stack.slice(-MAX_STACK) : stack;
  if (text.length <= MAX_RESULT) return text;
  const [first = ""] = text.split("\n", 1);
  const head = first.length <= MAX_NAME ? `${first}\n  …\n` : "…\n";
  const lines = text.slice(-(MAX_RESULT - head.length)).split("\n");
  // The rest of a cut line would be misleading.
  return head + (lines.length > 1 ? lines.slice(1) : lines).join("\n");
}

/**
 * A function that maps a tool's stacks for its author. The source map is parsed on demand: most tools never throw, and
 * a parsed map is large.
 */
export function stackMapper(tool: string, json: string, runtime: Runtime): (stack: string) => string {
  if (runtime === "python") return cutTraceback;
  let map: SourceMap | undefined;
  let isRead = false;
  return (stack) => {
    if (!isRead) map = readSourceMap(json);
    isRead = true;
    return mapStack(stack, map, `tool:${tool}`);
  };
}
