import { ElementBorders, lineBorder, type TextKind, wholeCharacter } from "./borders.ts";
import type { ChunkedText, Pieces } from "./chunked-text.ts";
import { walk } from "./json-walk.ts";
import { Outline } from "./outline.ts";

/** A long text, and whether it is JSON. */
export interface ReadableText {
  readonly text: ChunkedText;
  readonly kind: TextKind;
}

/** Beginning, end and shape of a text that is too long to be read as a whole. */
export interface CutText {
  readonly head: string;
  readonly tail: string;
  /** Index after the head, at which reading continues. */
  readonly next: number;
  /** Number of characters left out. */
  readonly omitted: number;
  readonly shape: string;
}

const HEAD_SHARE = 0.7;

/**
 * Cuts a text to at most `chars` of its characters, at line or element borders, and describes its shape in
 * `shapeChars`.
 */
export function* cutText({ text, kind }: ReadableText, chars: number, shapeChars: number): Pieces<CutText> {
  const headMax = Math.floor(chars * HEAD_SHARE);
  const tailMin = text.length - (chars - headMax);
  const tailHalf = tailMin + Math.floor((text.length - tailMin) / 2);
  const cut = kind === "json" ? cutJson : cutLines;
  const { next, tailStart, shape } = yield* cut(text, headMax, tailMin, tailHalf, shapeChars);
  return {
    head: text.slice(0, next),
    tail: text.slice(tailStart, text.length),
    next,
    omitted: tailStart - next,
    shape,
  };
}

type Borders = { readonly next: number; readonly tailStart: number; readonly shape: string };

function* cutJson(
  text: ChunkedText,
  headMax: number,
  tailMin: number,
  tailHalf: number,
  shapeChars: number,
): Pieces<Borders> {
  const heads = new ElementBorders(Math.floor(headMax / 2), headMax);
  const tails = new ElementBorders(tailMin, tailHalf);
  const outline = new Outline();
  yield* walk(text, [() => heads.visitor(), () => tails.visitor(), (walker) => outline.visitor(walker)]);
  return {
    next: heads.find("last") ?? wholeCharacter(text, headMax),
    tailStart: tails.find("first") ?? wholeCharacter(text, tailMin),
    shape: `JSON: ${outline.describe(shapeChars)}`,
  };
}

function* cutLines(text: ChunkedText, headMax: number, tailMin: number, tailHalf: number): Pieces<Borders> {
  let lines = 1;
  for (let index = 0; index < text.chunks; index++) {
    const chunk = text.chunk(index);
    for (let at = chunk.indexOf("\n"); at >= 0; at = chunk.indexOf("\n", at + 1)) lines++;
    yield;
  }
  return {
    next: lineBorder(text, Math.floor(headMax / 2), headMax, "last"),
    tailStart: lineBorder(text, tailMin, tailHalf, "first"),
    shape: `text of ${lines} ${lines === 1 ? "line" : "lines"}`,
  };
}
