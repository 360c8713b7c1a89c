import { pointerSegment } from "../json.ts";
import { type TextKind, wholeCharacter } from "./borders.ts";
import type { ChunkedText, Pieces } from "./chunked-text.ts";
import { type JsonVisitor, type JsonWalk, walk } from "./json-walk.ts";

/** Places that are shown, and that are counted. */
export const SHOWN_MAX = 20;
export const COUNTED_MAX = 10_000;
/** Characters that are shown before a place, and from it on. */
const BEFORE = 120;
const AFTER = 360;
const POINTER_SHOWN = 200;
/** Displayed characters of a place, in addition to those around it. */
const PLACE_SHOWN = 1_000;

/** A place in a text, and its length. */
export type Place = readonly [at: number, length: number];

/** A place where a text was found. */
export interface Hit {
  readonly at: number;
  /** JSON pointer of its value; `null` in a text, and for a long pointer. */
  pointer: string | null;
  /** The text around it. */
  readonly excerpt: string;
}

export interface Found {
  readonly hits: readonly Hit[];
  /** Number of places from `from` on, at most 10,000. */
  readonly count: number;
  /** Index up to which the text was searched; `null` for its end. */
  readonly until: number | null;
}

/** Finds a short text literally, from an index on: its length and that of a chunk limit the work of one piece. */
export function* find(text: ChunkedText, kind: TextKind, needle: string, from: number): Pieces<Found> {
  // A JSON text has the characters as JSON writes them.
  const written = kind === "json" ? JSON.stringify(needle).slice(1, -1) : needle;
  const places: Place[] = [];
  let count = 0;
  let before = "";
  let base = 0;
  for (let index = 0; index < text.chunks && count < COUNTED_MAX; index++) {
    const chunk = text.chunk(index);
    const window = before + chunk;
    const start = base - before.length;
    for (
      let at = window.indexOf(written, Math.max(0, from - start));
      at >= 0 && count < COUNTED_MAX;
      at = window.indexOf(written, at + written.length)
    ) {
      count++;
      if (places.length < SHOWN_MAX) places.push([start + at, written.length]);
    }
    base += chunk.length;
    // A counted hit is longer than the text that is carried over.
    before = window.slice(window.length - Math.min(window.length, written.length - 1));
    yield;
  }
  return { hits: yield* showPlaces(text, kind, places), count, until: null };
}

/** Places of a text, in their order, with the text around them. */
export function* showPlaces(text: ChunkedText, kind: TextKind, places: readonly Place[]): Pieces<readonly Hit[]> {
  const hits = places.map((place) => hitAt(text, place));
  if (kind === "json") yield* addPointers(text, hits);
  return hits;
}

function hitAt(text: ChunkedText, [at, length]: Place): Hit {
  const start = wholeCharacter(text, Math.max(0, at - BEFORE));
  const end = wholeCharacter(text, Math.min(text.length, at + Math.min(length, PLACE_SHOWN) + AFTER));
  const excerpt = `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
  return { at, pointer: null, excerpt };
}

/** A hit is in the value that ends first after it. */
function* addPointers(text: ChunkedText, hits: readonly Hit[]): Pieces<undefined> {
  let next = 0;
  const locator = (walker: JsonWalk): JsonVisitor => ({
    wantsNames: () => true,
    end: (at, depth) => {
      for (let hit = hits[next]; hit !== undefined && hit.at < at; hit = hits[++next]) {
        hit.pointer = pointerTo(walker, depth);
      }
    },
  });
  yield* walk(text, [locator], () => next >= hits.length);
}

function pointerTo(walker: JsonWalk, depth: number): string | null {
  let pointer = "";
  for (let level = 1; level <= depth; level++) {
    const name = walker.nameAt(level);
    if (name === null) return null;
    pointer += pointerSegment(name);
    if (pointer.length > POINTER_SHOWN) return null;
  }
  return pointer;
}
