import { GloveboxError } from "../../base/errors.ts";
import { pageEnd } from "../../base/reading/borders.ts";
import { type Pieces, partOf, unquoted } from "../../base/reading/chunked-text.ts";
import type { ReadableText } from "../../base/reading/cut-text.ts";
import { namesIn, spanOf } from "../../base/reading/pointer-span.ts";
import { find, type Found } from "../../base/reading/search.ts";
import { READ_OUTPUT } from "../../tool/program/program.ts";
import { CALL_MAX, PAGE_MIN, POINTER_MAX, SEARCH_MAX } from "./read-output-tool.ts";

const PAGE_CHARS = 10_000;
const INDEX_MAX = 2 ** 40;

/** Arguments of `read_output`. */
export interface OutputQuery {
  readonly call: string;
  readonly pointer: string;
  readonly from: number;
  readonly chars: number;
  /** A text to find. */
  readonly search: string | null;
  /** A regular expression to find. */
  readonly pattern: string | null;
}

/** Checks arguments of `read_output`. Throws a `GloveboxError` that names the mistake. */
export function readQuery(given: unknown, modelChars: number): OutputQuery {
  const most = Math.max(PAGE_MIN, modelChars);
  const asked = (given ?? {}) as { readonly [Name in keyof OutputQuery]?: unknown };
  const { call, pointer = "", from = 0, chars = Math.min(PAGE_CHARS, most), search, pattern } = asked;
  if (!isText(call, CALL_MAX)) throw wrong("call must be the id of a call, as the end of its output names it");
  if (!isText(pointer, POINTER_MAX) || namesIn(pointer) === null) {
    throw wrong("pointer must be a JSON pointer, such as /rows/17, in which ~1 stands for / and ~0 for ~");
  }
  if (!isCount(from, 0, INDEX_MAX)) throw wrong("from must be a whole number of at least 0");
  if (!isCount(chars, PAGE_MIN, most)) throw wrong(`chars must be a whole number from ${PAGE_MIN} to ${most}`);
  if (!isSought(search)) throw wrong(`search must be a text of 1 to ${SEARCH_MAX} characters`);
  if (!isSought(pattern)) throw wrong(`pattern must be a regular expression of 1 to ${SEARCH_MAX} characters`);
  if (search !== undefined && pattern !== undefined) throw wrong("search and pattern exclude each other: give one");
  return { call, pointer, from, chars, search: search ?? null, pattern: pattern ?? null };
}

function isText(value: unknown, most: number): value is string {
  return typeof value === "string" && value.length <= most;
}

function isSought(value: unknown): value is string | undefined {
  return value === undefined || (isText(value, SEARCH_MAX) && value !== "");
}

function isCount(value: unknown, least: number, most: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= least && value <= most;
}

function wrong(message: string): GloveboxError {
  return new GloveboxError("invalid_arguments", message);
}

/** The page of a query, as text. Throws a `GloveboxError` if the output has no such page. */
export function* readPage(output: ReadableText, query: OutputQuery): Pieces<string> {
  const part = yield* partAt(output, query.pointer);
  if (query.search === null) return yield* pageOf(part, query);
  return listOf(yield* find(part.text, part.kind, query.search, query.from), query);
}

/** The part of an output at a JSON pointer: a string is read as its text. */
export function* partAt(output: ReadableText, pointer: string): Pieces<ReadableText> {
  if (pointer === "") return output;
  if (output.kind === "text") throw wrong("the output is a text, which has no parts: leave pointer out");
  const span = yield* spanOf(output.text, namesIn(pointer) ?? []);
  if ("found" in span) {
    const where = span.found === "" ? "the output" : span.found;
    throw wrong(`there is nothing at ${pointer}: ${where} is of the kind ${span.kind}, with ${span.count} members`);
  }
  const text = yield* partOf(output.text, span.start, span.end);
  return span.kind === "string" ? { kind: "text", text: yield* unquoted(text) } : { kind: "json", text };
}

function* pageOf({ text, kind }: ReadableText, { call, pointer, from, chars }: OutputQuery): Pieces<string> {
  const { length } = text;
  if (from > 0 && from >= length) throw wrong(`from must be below ${length}, the number of characters`);
  const end = yield* pageEnd(text, kind, from, from + chars);
  const place = pointer === "" ? "" : ` of ${pointer}`;
  const next = end < length ? `. Go on with ${lineOf({ call, pointer, from: end })}` : ": its end";
  return `${text.slice(from, end)}\n\n[Characters ${from} to ${end} of ${length}${place}${next}]`;
}

/** The matches, as a page. */
export function listOf({ hits, count, until }: Found, query: OutputQuery): string {
  const { call, pointer, from, chars, search, pattern } = query;
  const sought = search === null ? { pattern } : { search };
  const goOn = (at: number | null) =>
    at === null ? "" : ` Go on with ${lineOf({ call, pointer, from: at, ...sought })}`;
  const range = `${from === 0 ? "" : ` from ${from} on`}${until === null ? "" : ` up to ${until}`}`;
  if (count === 0) {
    return `[The ${search === null ? "pattern" : "text"} was not found${range}. Capital and small letters differ.${goOn(until)}]`;
  }
  const lines: string[] = [];
  let left = chars;
  let next: number | null = null;
  for (const { at, pointer: found, excerpt } of hits) {
    const place = found === null ? "" : `, in ${JSON.stringify(pointer + found)}`;
    const line = `[at ${at}${place}]\n${excerpt}`;
    if (lines.length > 0 && line.length > left) {
      next = at;
      break;
    }
    left -= line.length;
    lines.push(line);
  }
  const last = hits.at(-1);
  if (next === null && last !== undefined && count > hits.length) next = last.at + 1;
  const number = `${count} ${count === 1 ? "place" : "places"}${range}`;
  return `${lines.join("\n\n")}\n\n[${number}, ${lines.length} shown.${goOn(next ?? until)}]`;
}

/** The call of `read_output` for the next page. */
export function lineOf({ pointer, ...query }: Partial<OutputQuery>): string {
  const { call, ...rest } = query;
  return `${READ_OUTPUT} ${JSON.stringify({ call, ...(pointer ? { pointer } : {}), ...rest })}`;
}
