import { isObject } from "../../base/json.ts";

/** The parts of a source map (ECMA-426) that give the source of text. */
export interface SourceMap {
  readonly sources: readonly unknown[];
  readonly mappings: string;
  /** Places in the mappings from which they can be read, in order. */
  readonly marks: readonly Mark[];
}

/** The state of a reader between two mappings; the first of its fields is the column of the last one. */
interface Mark {
  readonly at: number;
  readonly line: number;
  readonly source: number;
  readonly fields: readonly number[];
}

/** A place in a text; both count from 0. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** A place in a source. */
export interface SourcePosition extends TextPosition {
  readonly source: string;
}

/** Characters of a source map. */
export const MAP_MAX = 4 * 1024 * 1024;
/** Characters of mappings between two marks. */
const MARK_EVERY = 4 * 1024;

/** Parses a bundle's source map; `undefined` if it is too large or invalid: frames then keep the bundle's lines. */
export function readSourceMap(json: string): SourceMap | undefined {
  if (json.length > MAP_MAX) return undefined;
  try {
    const { sources, mappings, marks } = JSON.parse(json) as { readonly [Name in keyof SourceMap]?: unknown };
    if (!Array.isArray(sources) || typeof mappings !== "string") return undefined;
    return { sources, mappings, marks: isMarks(marks) ? marks : marksIn(mappings) };
  } catch {
    return undefined;
  }
}

/** A source map as JSON, which is read by its marks; empty if that would be too large. */
export function writeSourceMap(sources: readonly string[], mappings: string): string {
  if (mappings.length > MAP_MAX) return "";
  const json = JSON.stringify({ version: 3, sources, names: [], mappings, marks: marksIn(mappings) });
  return json.length > MAP_MAX ? "" : json;
}

function isMarks(value: unknown): value is readonly Mark[] {
  return Array.isArray(value) && value.every(isMark);
}

function isMark(value: unknown): value is Mark {
  if (!isObject(value)) return false;
  const { at, line, source, fields } = value;
  return Array.isArray(fields) && fields.length === FIELDS && [at, line, source, ...fields].every(Number.isInteger);
}

function marksIn(mappings: string): readonly Mark[] {
  const marks: Mark[] = [];
  const reader = new MappingReader(mappings);
  for (let at = MARK_EVERY; at < mappings.length && reader.skipTo(at); at += MARK_EVERY) marks.push(reader.mark());
  return marks;
}

/**
 * The sources of some positions of a bundle: the mapping at or before each, `undefined` without one. Reads the text
 * after the last mark before each: a list of all mappings takes about fifty times their size.
 */
export function findSources(
  { sources, mappings, marks }: SourceMap,
  positions: readonly TextPosition[],
): (SourcePosition | undefined)[] {
  const found = Array.from(positions, (): SourcePosition | undefined => undefined);
  const order = [...positions.entries()].toSorted(([, one], [, other]) => (isBefore(one, other) ? -1 : 1));
  const mapping = new MappingReader(mappings);
  for (const [index, position] of order) {
    const mark = marks.findLast(({ line, fields }) => !isBefore(position, { line, column: fields[0] ?? 0 }));
    if (mark !== undefined) mapping.startAt(mark);
    mapping.advance(position);
    const source = sources[mapping.source];
    if (typeof source === "string") {
      found[index] = { source, line: mapping.sourceLine, column: mapping.sourceColumn };
    }
  }
  return found;
}

function isBefore(one: TextPosition, other: TextPosition): boolean {
  return one.line === other.line ? one.column < other.column : one.line < other.line;
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const DIGITS = new Int8Array(128).fill(-1);
for (let digit = 0; digit < ALPHABET.length; digit++) DIGITS[ALPHABET.charCodeAt(digit)] = digit;
const [COMMA, SEMICOLON] = [44, 59];
/** Fields of a mapping: column, source, line and column in it, name. Each is the difference from the one before. */
const FIELDS = 5;

/** A cursor over the mappings of a map, which are in the order of their positions. */
class MappingReader {
  readonly #text: string;
  #at = 0;
  #line = 0;
  readonly #fields = new Int32Array(FIELDS);
  /** Number of fields of the mapping that was read last; 0 at a line's end. */
  #count = 0;
  /** The last mapping at or before the position; -1 without one, or if it has no source. */
  source = -1;
  sourceLine = 0;
  sourceColumn = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Advances to a mark, unless it is behind. */
  startAt({ at, line, fields, source }: Mark): void {
    if (at <= this.#at) return;
    this.#at = at;
    this.#line = line;
    this.#fields.set(fields);
    this.#count = 0;
    this.#take(source);
  }

  /** The state after `skipTo`. */
  mark(): Mark {
    return { at: this.#at, line: this.#line, source: this.source, fields: [...this.#fields] };
  }

  /** Reads all mappings that begin before a place in the text; `false` at its end. */
  skipTo(at: number): boolean {
    while (this.#at < at) {
      if (!this.#read()) return false;
      if (this.#count > 0) this.#take(this.#count >= 4 ? (this.#fields[1] ?? -1) : -1);
    }
    return true;
  }

  /** Advances to the last mapping at or before a position, which is not before that of the last call. */
  advance({ line, column }: TextPosition): void {
    for (;;) {
      if (this.#count > 0) {
        if (this.#line > line || (this.#line === line && (this.#fields[0] ?? 0) > column)) return;
        this.#take(this.#count >= 4 ? (this.#fields[1] ?? -1) : -1);
      }
      if (this.#line > line || !this.#read()) return;
    }
  }

  #take(source: number): void {
    this.source = source;
    this.sourceLine = this.#fields[2] ?? 0;
    this.sourceColumn = this.#fields[3] ?? 0;
  }

  /** Reads a mapping or the end of a line; `false` at the end of the text. */
  #read(): boolean {
    this.#count = 0;
    if (this.#at >= this.#text.length) return false;
    for (let value = 0, shift = 0; this.#at < this.#text.length;) {
      const code = this.#text.charCodeAt(this.#at++);
      if (code === COMMA) return true;
      if (code === SEMICOLON) {
        // The mapping before it is in this line, and is checked first.
        if (this.#count > 0) this.#at--;
        else this.#startLine();
        return true;
      }
      const digit = DIGITS[code] ?? -1;
      if (digit < 0 || this.#count === FIELDS) return this.#stop();
      value += (digit & 31) << shift;
      shift += 5;
      if ((digit & 32) !== 0) continue;
      const change = (value & 1) === 1 ? -(value >>> 1) : value >>> 1;
      this.#fields[this.#count] = (this.#fields[this.#count] ?? 0) + change;
      this.#count++;
      value = 0;
      shift = 0;
    }
    return true;
  }

  #startLine(): void {
    this.#line++;
    this.#fields[0] = 0;
  }

  /** The text is no list of mappings. */
  #stop(): false {
    this.#at = this.#text.length;
    this.#count = 0;
    return false;
  }
}
