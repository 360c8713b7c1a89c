import { isHighSurrogate } from "../json.ts";
import { CHUNK, type ChunkedText, type Pieces } from "./chunked-text.ts";
import { type JsonVisitor, walk } from "./json-walk.ts";

/** Whether a text is read by its lines, or is JSON, which is read by its elements. */
export type TextKind = "text" | "json";

/** Containers around an element at whose end a text may be cut. */
const DEPTH_MAX = 8;

/** Ends of elements between two indexes, by depth: the first and the last of each. */
export class ElementBorders {
  readonly #from: number;
  readonly #to: number;
  readonly #first: (number | undefined)[] = [];
  readonly #last: (number | undefined)[] = [];

  constructor(from: number, to: number) {
    this.#from = from;
    this.#to = to;
  }

  visitor(): JsonVisitor {
    return {
      wantsNames: () => false,
      comma: (at, depth) => {
        const border = at + 1;
        if (depth > DEPTH_MAX || border <= this.#from || border > this.#to) return;
        this.#first[depth] ??= border;
        this.#last[depth] = border;
      },
    };
  }

  /** The last border, or the first one, of the outermost elements that have one; `null` if none has. */
  find(side: "first" | "last"): number | null {
    const borders = side === "first" ? this.#first : this.#last;
    return borders.find((border) => border !== undefined) ?? null;
  }
}

/** The index at or before `to` at which a page that begins at `from` best ends. */
export function* pageEnd(text: ChunkedText, kind: TextKind, from: number, to: number): Pieces<number> {
  if (to >= text.length) return text.length;
  const half = from + Math.floor((to - from) / 2);
  if (kind === "text") return lineBorder(text, half, to, "last");
  const borders = new ElementBorders(half, to);
  // The text after the page need not be read.
  const until = Math.floor(to / CHUNK) + 1;
  let read = 0;
  yield* walk(text, [() => borders.visitor()], () => read++ >= until);
  return borders.find("last") ?? wholeCharacter(text, to);
}

/** The last or the first line border between two indexes of a text; else the whole character there. */
export function lineBorder(text: ChunkedText, from: number, to: number, side: "first" | "last"): number {
  const part = text.slice(from, to);
  const at = side === "last" ? part.lastIndexOf("\n") : part.indexOf("\n");
  return at >= 0 ? from + at + 1 : wholeCharacter(text, side === "last" ? to : from);
}

/** The index, or the one before it if that is within a pair of surrogates. */
export function wholeCharacter(text: ChunkedText, at: number): number {
  return at > 0 && isHighSurrogate(text.slice(at - 1, at).charCodeAt(0)) ? at - 1 : at;
}
