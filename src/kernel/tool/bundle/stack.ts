import type { Bundle } from "./bundle.ts";
import {
  findSources,
  MAP_MAX,
  readSourceMap,
  type SourceMap,
  type SourcePosition,
  type TextPosition,
} from "./source-map.ts";

const MAX_STACK = 64 * 1024;
const MAX_MESSAGE = 1024;
const MAX_FRAMES = 10;
const MAX_RESULT = 4096;
const MAX_NAME = 80;
/** The source of frames without a map, and the reason. */
const BUNDLE = "tool.js";
const NO_MAP = `    (lines of the bundle, because it has no source map of up to ${MAP_MAX} characters)`;
const FRAME = /^\s{0,8}at /;

/** A frame in the tool's script. */
interface Frame extends TextPosition {
  /** Empty for a function without a name to show. */
  readonly name: string;
}

/**
 * Turns a stack from inside an isolate into one for the tool's author: the message, then the tool's own frames at the
 * lines of its sources. Frames of the engine and all facts about the host are removed. The tool controls the text of
 * the stack, so it is cut before it is parsed. `source`: name of a script without a map.
 */
export function mapStack(
  stack: string,
  map: SourceMap | string | undefined,
  scriptName: string,
  source: string = BUNDLE,
): string {
  const sourceMap = typeof map === "string" ? readSourceMap(map) : map;
  const lines = stack.slice(0, MAX_STACK).split("\n");
  const first = lines.findIndex((line) => FRAME.test(line));
  const message = (first === -1 ? lines : lines.slice(0, first)).join("\n").slice(0, MAX_MESSAGE);
  const frames: Frame[] = [];
  for (const line of first === -1 ? [] : lines.slice(first)) {
    const frame = FRAME.test(line) ? readFrame(line.trim(), scriptName) : undefined;
    if (frame !== undefined) frames.push(frame);
  }
  const shown = showFrames(frames, sourceMap, source).slice(0, MAX_FRAMES);
  return [message, ...shown].join("\n").slice(0, MAX_RESULT);
}

/** V8 counts lines and columns from 1. */
function readFrame(line: string, scriptName: string): Frame | undefined {
  const at = line.lastIndexOf(`${scriptName}:`);
  if (at === -1 || line.length > MAX_MESSAGE) return undefined;
  const position = /^(\d{1,9}):(\d{1,9})\)*$/.exec(line.slice(at + scriptName.length + 1));
  if (position === null) return undefined;
  const name = functionName(line.slice("at ".length, at));
  return { name, line: Number(position[1]) - 1, column: Number(position[2]) - 1 };
}

/** Frames at their places in the sources; those that have none are left out. Without a map all keep their own. */
function showFrames(frames: readonly Frame[], map: SourceMap | undefined, source: string): string[] {
  const places = map === undefined ? frames.map((frame) => ({ ...frame, source })) : findSources(map, frames);
  return frames.flatMap(({ name }, index) => {
    const place = places[index];
    if (place === undefined) return [];
    return name === "" ? `    at ${placeText(place)}` : `    at ${name} (${placeText(place)})`;
  });
}

function placeText({ source, line, column }: SourcePosition): string {
  return `${relativeName(source)}:${line + 1}:${column + 1}`;
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
 * A function that maps a tool's stacks for its author. The source map is parsed on demand: most tools never throw.
 */
export function stackMapper(
  tool: string,
  { sourceMap: json, runtime, isInterpreted }: Pick<Bundle, "sourceMap" | "runtime" | "isInterpreted">,
): (stack: string) => string {
  if (isInterpreted === true) return cutTraceback;
  let map: SourceMap | undefined;
  let isRead = false;
  return (stack) => {
    if (!isRead) map = readSourceMap(json);
    isRead = true;
    const mapped = mapStack(stack, map, `tool:${tool}`);
    return runtime === "javascript" && map === undefined && mapped.includes(BUNDLE) ? `${mapped}\n${NO_MAP}` : mapped;
  };
}
