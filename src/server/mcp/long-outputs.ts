import { randomBytes } from "node:crypto";
import { piecesOf } from "../http/answers.ts";
import type { FilledPart } from "../http/web-exchange.ts";

const MARK_BYTES = 16;
/** A mark in a text of JSON: as a string, or as the only member of an object. */
const MARK = /\{"(glovebox-output-[0-9a-f]{32})":0\}|"(glovebox-output-[0-9a-f]{32})"/g;

/** Outputs in the responses to a request, by their marks. No tool can guess a mark. */
const outputsOf = new WeakMap<Request, Map<string, readonly string[]>>();

/**
 * Makes a mark for an output: the protocol's library writes it in the place of the output, and `fill` replaces it. The
 * library itself would parse and write the output as a whole.
 */
export function markOutput(request: Request, json: readonly string[]): string {
  const mark = `glovebox-output-${randomBytes(MARK_BYTES).toString("hex")}`;
  outputsFor(request).set(mark, json);
  return mark;
}

function outputsFor(request: Request): Map<string, readonly string[]> {
  let marked = outputsOf.get(request);
  if (marked === undefined) outputsOf.set(request, (marked = new Map<string, readonly string[]>()));
  return marked;
}

/** Has the responses to another request contain the outputs of one, present and future. */
export function shareOutputs(request: Request, other: Request): void {
  outputsOf.set(other, outputsFor(request));
}

/** Length of the outputs of a request. */
export function outputCharacters(request: Request): number {
  const marked = outputsOf.get(request);
  return marked === undefined ? 0 : [...marked.values()].flat().reduce((sum, { length }) => sum + length, 0);
}

/**
 * Part of a response with the outputs of its request, in pieces; `null` if it has none. An object `{mark: 0}` becomes
 * the output, a text `mark` the output's JSON as a text, or the output itself if that is a text.
 */
export function fill(request: Request, chunk: Uint8Array | string): FilledPart | null {
  const marked = outputsOf.get(request);
  if (marked === undefined) return null;
  const text = typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
  if (text.search(MARK) < 0) return null;
  const outputs = [...marked.values()].flat();
  return { length: outputs.reduce((sum, { length }) => sum + length, text.length), pieces: write(marked, text) };
}

async function* write(marked: ReadonlyMap<string, readonly string[]>, text: string): AsyncGenerator<Buffer> {
  let start = 0;
  for (const { 0: found, 1: object, 2: string, index } of text.matchAll(MARK)) {
    const json = marked.get(object ?? string ?? "");
    if (json === undefined) continue;
    yield Buffer.from(text.slice(start, index));
    start = index + found.length;
    if (object !== undefined || json[0]?.startsWith('"') === true) yield* piecesOf(json, onOneLine);
    else {
      yield Buffer.from('"');
      yield* piecesOf(json, (piece) => JSON.stringify(piece).slice(1, -1));
      yield Buffer.from('"');
    }
  }
  yield Buffer.from(text.slice(start));
}

/** Removes line feeds, which would end a line of an event stream. In JSON, they occur only between tokens. */
function onOneLine(piece: string): string {
  return piece.includes("\n") || piece.includes("\r") ? piece.replaceAll(/[\r\n]/g, " ") : piece;
}
