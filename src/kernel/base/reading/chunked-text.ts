/** Length of a chunk, in UTF-16 units: reading or searching one takes far less than a millisecond. */
export const CHUNK = 32 * 1024;

/** Work in pieces: at each `yield` others may have the thread. */
export type Pieces<Value> = Generator<undefined, Value, undefined>;

interface Chunk {
  readonly bytes: Buffer;
  readonly encoding: "latin1" | "utf16le";
}

/**
 * A long text that is made and read in pieces, outside of V8's heap. Its memory is exactly known: a slice of a
 * JavaScript string would retain all of that string.
 */
export class ChunkedText {
  /** All but the last have `CHUNK` units. */
  readonly #chunks: Chunk[] = [];
  /** Units that do not fill a chunk yet. */
  #rest = "";
  #length = 0;
  #bytes = 0;

  /** Length in UTF-16 units. */
  get length(): number {
    return this.#length + this.#rest.length;
  }

  /** Its memory, in bytes. */
  get bytes(): number {
    return this.#bytes + 2 * this.#rest.length;
  }

  get chunks(): number {
    return this.#chunks.length + (this.#rest === "" ? 0 : 1);
  }

  /** Adds to the end: a piece of work for at most a chunk. */
  push(text: string): void {
    this.#rest += text;
    while (this.#rest.length >= CHUNK) {
      this.#store(this.#rest.slice(0, CHUNK));
      this.#rest = this.#rest.slice(CHUNK);
    }
  }

  #store(text: string): void {
    const narrow = Buffer.from(text, "latin1");
    const isNarrow = narrow.toString("latin1") === text;
    const chunk: Chunk = isNarrow
      ? { bytes: narrow, encoding: "latin1" }
      : { bytes: Buffer.from(text, "utf16le"), encoding: "utf16le" };
    this.#chunks.push(chunk);
    this.#length += text.length;
    this.#bytes += chunk.bytes.length;
  }

  chunk(index: number): string {
    const chunk = this.#chunks[index];
    return chunk === undefined ? this.#rest : chunk.bytes.toString(chunk.encoding);
  }

  /** A short part of the text. */
  slice(start: number, end: number): string {
    let text = "";
    const until = Math.min(end, this.length);
    for (let at = Math.max(0, start); at < until;) {
      const index = Math.floor(at / CHUNK);
      const base = index * CHUNK;
      text += this.chunk(index).slice(at - base, until - base);
      at = base + CHUNK;
    }
    return text;
  }
}

/** A chunked text of a string, or of its parts. */
export function* chunkedOf(parts: readonly string[]): Pieces<ChunkedText> {
  const text = new ChunkedText();
  for (const part of parts) {
    for (let at = 0; at < part.length; at += CHUNK) {
      text.push(part.slice(at, at + CHUNK));
      yield;
    }
  }
  return text;
}

/** A part of a text, as a separate text. */
export function* partOf(text: ChunkedText, start: number, end: number): Pieces<ChunkedText> {
  const part = new ChunkedText();
  for (let at = start; at < end; at += CHUNK) {
    part.push(text.slice(at, Math.min(end, at + CHUNK)));
    yield;
  }
  return part;
}

const [BACKSLASH, LETTER_U] = [92, 117];
const UNICODE_ESCAPE = 6;

/** The text encoded in a JSON string with its quotes. */
export function* unquoted(json: ChunkedText): Pieces<ChunkedText> {
  const text = new ChunkedText();
  const end = json.length - 1;
  let carried = "";
  for (let at = 1; at < end; at += CHUNK) {
    const piece = carried + json.slice(at, Math.min(end, at + CHUNK));
    const whole = beforeCutEscape(piece);
    text.push(JSON.parse(`"${piece.slice(0, whole)}"`) as string);
    carried = piece.slice(whole);
    yield;
  }
  return text;
}

/** Start of an unfinished escape; otherwise the length of the piece. */
function beforeCutEscape(piece: string): number {
  for (let at = piece.indexOf("\\"); at >= 0; at = piece.indexOf("\\", at)) {
    const length = piece.charCodeAt(at + 1) === LETTER_U ? UNICODE_ESCAPE : 2;
    if (at + length > piece.length) return at;
    at += length;
    // Most escapes are single; a run of them is walked without a search for each.
    while (piece.charCodeAt(at) === BACKSLASH && at + UNICODE_ESCAPE <= piece.length) {
      at += piece.charCodeAt(at + 1) === LETTER_U ? UNICODE_ESCAPE : 2;
    }
  }
  return piece.length;
}
