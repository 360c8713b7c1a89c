import { stringFromUnits } from "./bytes.ts";

/** Number of bytes decoded at once: bounds the memory for the code units of a long text. */
const CHUNK = 8192;
const REPLACEMENT = 0xfffd;

/**
 * Writes as many whole characters of a string as fit; lone surrogates become U+FFFD. Returns the number of code units
 * read and of bytes written.
 */
export function writeUtf8(text: string, bytes: Uint8Array): { read: number; written: number } {
  let read = 0;
  let written = 0;
  while (read < text.length) {
    const unit = text.charCodeAt(read);
    if (unit < 0x80) {
      if (written >= bytes.length) break;
      bytes[written++] = unit;
      read += 1;
      continue;
    }
    const full = text.codePointAt(read) ?? 0;
    const point = full >= 0xd800 && full <= 0xdfff ? REPLACEMENT : full;
    const size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (written + size > bytes.length) break;
    if (size === 2) {
      bytes[written++] = 0xc0 | (point >> 6);
    } else if (size === 3) {
      bytes[written++] = 0xe0 | (point >> 12);
      bytes[written++] = 0x80 | ((point >> 6) & 0x3f);
    } else {
      bytes[written++] = 0xf0 | (point >> 18);
      bytes[written++] = 0x80 | ((point >> 12) & 0x3f);
      bytes[written++] = 0x80 | ((point >> 6) & 0x3f);
    }
    bytes[written++] = 0x80 | (point & 0x3f);
    read += full > 0xffff ? 2 : 1;
  }
  return { read, written };
}

/** Encodes a string as UTF-8; lone surrogates become U+FFFD. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  const { length } = text;
  const ascii = new Uint8Array(length);
  let head = 0;
  for (; head < length; head += 1) {
    const unit = text.charCodeAt(head);
    if (unit >= 0x80) break;
    ascii[head] = unit;
  }
  if (head === length) return ascii;
  // The rest of a text that is not all ASCII: a code unit takes at most three bytes.
  const tail = new Uint8Array((length - head) * 3);
  const { written } = writeUtf8(text.slice(head), tail);
  const bytes = new Uint8Array(head + written);
  bytes.set(ascii.subarray(0, head));
  bytes.set(tail.subarray(0, written), head);
  return bytes;
}

/** Decodes UTF-8 in chunks, with one U+FFFD for each maximal malformed sequence, as the standard requires. */
export class Utf8Decoder {
  readonly #fatal: boolean;
  /** The code point so far, the number of missing continuation bytes, and the valid range of the next byte. */
  #point = 0;
  #needed = 0;
  #lower = 0x80;
  #upper = 0xbf;

  constructor(fatal: boolean) {
    this.#fatal = fatal;
  }

  /** The text of the bytes. An incomplete character at the end is kept, or malformed if `last` is set. */
  decode(bytes: Uint8Array, last: boolean): string {
    let text = "";
    let start = 0;
    if (this.#needed === 0) {
      while (start < bytes.length && (bytes[start] ?? 0) < 0x80) start += 1;
      text = stringFromUnits(bytes.subarray(0, start));
    }
    if (start < bytes.length) {
      // Each byte yields one unit, and bytes kept from the last call can add two more.
      const units = new Uint16Array(Math.min(bytes.length - start, CHUNK) + 2);
      for (; start < bytes.length; start += CHUNK) {
        const count = this.#decodeChunk(bytes.subarray(start, start + CHUNK), units);
        text += stringFromUnits(units.subarray(0, count));
      }
    }
    if (!last || this.#needed === 0) return text;
    this.#needed = 0;
    this.#refuse();
    return `${text}\ufffd`;
  }

  #decodeChunk(bytes: Uint8Array, units: Uint16Array): number {
    let count = 0;
    for (let index = 0; index < bytes.length; index += 1) {
      const byte = bytes[index] ?? 0;
      if (this.#needed === 0) {
        if (byte < 0x80) units[count++] = byte;
        else if (!this.#begin(byte)) units[count++] = REPLACEMENT;
      } else if (byte < this.#lower || byte > this.#upper) {
        this.#needed = 0;
        this.#refuse();
        units[count++] = REPLACEMENT;
        // The byte that broke off the character may begin the next one.
        index -= 1;
      } else {
        this.#lower = 0x80;
        this.#upper = 0xbf;
        this.#point = (this.#point << 6) | (byte & 0x3f);
        this.#needed -= 1;
        if (this.#needed > 0) continue;
        if (this.#point > 0xffff) {
          units[count++] = 0xd800 + ((this.#point - 0x10000) >> 10);
          units[count++] = 0xdc00 + (this.#point & 0x3ff);
        } else {
          units[count++] = this.#point;
        }
      }
    }
    return count;
  }

  /** Reads the first byte of a longer character. The ranges exclude overlong forms, surrogates and excessive points. */
  #begin(byte: number): boolean {
    this.#lower = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
    this.#upper = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
    if (byte >= 0xc2 && byte <= 0xdf) {
      this.#needed = 1;
      this.#point = byte & 0x1f;
    } else if (byte >= 0xe0 && byte <= 0xef) {
      this.#needed = 2;
      this.#point = byte & 0xf;
    } else if (byte >= 0xf0 && byte <= 0xf4) {
      this.#needed = 3;
      this.#point = byte & 0x7;
    } else {
      this.#refuse();
      return false;
    }
    return true;
  }

  #refuse(): void {
    if (this.#fatal) throw new TypeError("The encoded data was not valid for encoding utf-8");
  }
}
