import { GloveboxError } from "../../base/errors.ts";
import { isObject, memberOf } from "../../base/json.ts";
import type { ChunkedText, Pieces } from "../../base/reading/chunked-text.ts";
import type { ReadableText } from "../../base/reading/cut-text.ts";
import { type PieceWork, runPieces } from "../../base/reading/run-pieces.ts";
import { COUNTED_MAX, type Found, type Place, SHOWN_MAX, showPlaces } from "../../base/reading/search.ts";
import type { ToolResult } from "../../base/result.ts";
import type { FunctionProgram } from "../../tool/program/program.ts";

/** Characters that an isolate gets at once, and those before them that `^`, `\b` and lookbehinds see. */
const PIECE = 64 * 1024;
const BEFORE = 1_024;
/** Maximum length of a match that is certain to be found as a whole. */
const MATCH_MAX = 4_096;
/** Maximum characters of one search, as JSON: less than the `capabilityBytes` of a call. */
const SEARCHED_MAX = 6 * 1024 * 1024;

/** Maximum time for which a reading keeps its place. */
const LIMITS = { queueMs: 5_000, wallMs: 10_000 } as const;

/** The runner of a pattern, and the account that is charged. */
export interface PatternWork extends PieceWork {
  readonly run: (program: FunctionProgram) => Promise<ToolResult>;
}

/**
 * Finds the matches of a regular expression, from an index on. An isolate runs it, charged to and within the limits of
 * a call of the tenant, and requests one piece of the text after the other. Rejects with a `GloveboxError`.
 */
export async function findPattern(
  { text, kind }: ReadableText,
  pattern: string,
  from: number,
  { run, ...work }: PatternWork,
): Promise<Found> {
  let left = SEARCHED_MAX;
  const read = async (asked: unknown): Promise<Piece | null> => {
    if (left <= 0) return null;
    const piece = await runPieces(pieceAt(text, Number(memberOf(asked, "from"))), work);
    left -= JSON.stringify(piece.text).length;
    return piece;
  };
  const { success, output, error } = await run({
    kind: "functions",
    code: programOf(pattern, from),
    functions: new Map([["read", read]]),
    limits: LIMITS,
  });
  if (!success) throw new GloveboxError(error.code, `the pattern was not searched for: ${error.message}`);
  const { places, count, until } = readTold(memberOf(output, "value"), text.length);
  return { hits: await runPieces(showPlaces(text, kind, places), work), count, until };
}

interface Piece {
  readonly text: string;
  /** Index of its first character. */
  readonly start: number;
  readonly isLast: boolean;
}

function* pieceAt(whole: ChunkedText, from: number): Pieces<Piece> {
  const start = Math.max(0, Math.floor(from) - BEFORE || 0);
  const end = Math.min(whole.length, start + BEFORE + PIECE);
  const text = whole.slice(start, end);
  yield;
  return { text, start, isLast: end === whole.length };
}

/** A match that begins near the end of a piece is searched in the next one, which has all of it. */
function programOf(pattern: string, from: number): string {
  return `let pattern;
try {
  pattern = new RegExp(${JSON.stringify(pattern)}, "gm");
} catch (error) {
  return { wrong: String(error.message) };
}
const places = [];
let count = 0;
for (let from = ${from}; ; ) {
  const piece = await read({ from });
  if (piece === null) return { places, count, until: from };
  const { text, start, isLast } = piece;
  const border = isLast ? Infinity : text.length - ${MATCH_MAX};
  pattern.lastIndex = from - start;
  for (let match; (match = pattern.exec(text)) !== null && match.index < border; ) {
    if (match[0] === "") {
      pattern.lastIndex++;
      continue;
    }
    from = start + pattern.lastIndex;
    if (places.length < ${SHOWN_MAX}) places.push([start + match.index, match[0].length]);
    if (++count === ${COUNTED_MAX}) return { places, count, until: null };
  }
  if (isLast) return { places, count, until: null };
  from = Math.max(from, start + border);
}`;
}

interface Told {
  readonly places: readonly Place[];
  readonly count: number;
  readonly until: number | null;
}

/** Throws a `GloveboxError` if the pattern is wrong. The report of an isolate is hostile input. */
function readTold(told: unknown, length: number): Told {
  const { wrong, places, count, until } = isObject(told) ? told : {};
  if (typeof wrong === "string") {
    throw new GloveboxError("invalid_arguments", `pattern is no regular expression: ${wrong.slice(0, 300)}`);
  }
  const given: readonly unknown[] = Array.isArray(places) ? places.slice(0, SHOWN_MAX) : [];
  const read = given.flatMap((one): readonly Place[] => {
    const [at, size]: readonly unknown[] = Array.isArray(one) ? one : [];
    return isIndex(at, length) && isIndex(size, length) ? [[at, size]] : [];
  });
  return {
    places: read.toSorted(([one], [other]) => one - other),
    count: isIndex(count, COUNTED_MAX) ? count : read.length,
    until: isIndex(until, length) ? until : null,
  };
}

function isIndex(value: unknown, most: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= most;
}
