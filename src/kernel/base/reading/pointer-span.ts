import { nameOfSegment, pointerSegment } from "../json.ts";
import type { ChunkedText, Pieces } from "./chunked-text.ts";
import { type JsonKind, type JsonVisitor, type JsonWalk, walk } from "./json-walk.ts";

/** The place of a value in a JSON text. */
export interface FoundSpan {
  readonly kind: JsonKind;
  readonly start: number;
  readonly end: number;
}

/** The end of a JSON pointer that leads to no value. */
export interface MissingSpan {
  /** The longest part of the pointer that leads to a value, that value's kind, and its number of members. */
  readonly found: string;
  readonly kind: JsonKind;
  readonly count: number;
}

const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/;

/** The names in a JSON pointer (RFC 6901); `null` if it is no pointer. */
export function namesIn(pointer: string): readonly string[] | null {
  return POINTER.test(pointer) ? pointer.split("/").slice(1).map(nameOfSegment) : null;
}

/** Finds the first value to which a JSON pointer leads. */
export function* spanOf(json: ChunkedText, names: readonly string[]): Pieces<FoundSpan | MissingSpan> {
  let result: FoundSpan | MissingSpan | null = null;
  let matched = 0;
  let kind: JsonKind = "null";
  let start = -1;
  const finder = (walker: JsonWalk): JsonVisitor => ({
    wantsNames: (depth) => result === null && start < 0 && depth === matched + 1,
    begin: (begun, at, depth) => {
      if (result !== null || start >= 0) return;
      if (depth === matched + 1 && walker.nameAt(depth) === names[matched]) matched++;
      else if (depth > 0) return;
      kind = begun;
      if (matched === names.length) start = at;
    },
    end: (at, depth) => {
      if (result !== null || depth !== matched) return;
      if (start >= 0) result = { kind, start, end: at };
      else result = { found: names.slice(0, matched).map(pointerSegment).join(""), kind, count: walker.countAt(depth) };
    },
  });
  yield* walk(json, [finder], () => result !== null);
  return result ?? { found: "", kind, count: 0 };
}
