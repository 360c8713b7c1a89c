import { stringFromUnits } from "./bytes.ts";

/** Number of bytes decoded at once; even, so that only the end of the input can split a code unit. */
const CHUNK = 16384;

/** Decodes UTF-16 of either byte order, in chunks; lone surrogates become U+FFFD. */
export class Utf16Decoder {
  readonly #fatal: boolean;
  readonly #littleEndian: boolean;
  /** The first byte of a split code unit, and the lead surrogate of a split pair. */
  #byte: number | undefined;
  #lead = "";

  constructor(fatal: boolean, littleEndian: boolean) {
    this.#fatal = fatal;
    this.#littleEndian = littleEndian;
  }

  /** The text of the bytes. An incomplete character at the end is kept, or malformed if `last` is set. */
  decode(bytes: Uint8Array, last: boolean): string {
    let text = this.#lead;
    this.#lead = "";
    for (let start = 0; start < bytes.length; start += CHUNK) {
      text += this.#units(bytes.subarray(start, start + CHUNK));
    }
    const unit = text.charCodeAt(text.length - 1);
    if (unit >= 0xd800 && unit <= 0xdbff) {
      this.#lead = text.slice(-1);
      text = text.slice(0, -1);
    }
    const isCut = last && (this.#lead !== "" || this.#byte !== undefined);
    if (last) {
      this.#lead = "";
      this.#byte = undefined;
    }
    if (this.#fatal && (isCut || !text.isWellFormed())) {
      throw new TypeError(`The encoded data was not valid for encoding utf-16${this.#littleEndian ? "le" : "be"}`);
    }
    // A lone lead surrogate and half a code unit at the end count as one error.
    return isCut ? `${text.toWellFormed()}\ufffd` : text.toWellFormed();
  }

  #units(bytes: Uint8Array): string {
    const units = new Uint16Array((bytes.length + 1) >> 1);
    let count = 0;
    for (const byte of bytes) {
      if (this.#byte === undefined) {
        this.#byte = byte;
        continue;
      }
      units[count++] = this.#littleEndian ? this.#byte | (byte << 8) : (this.#byte << 8) | byte;
      this.#byte = undefined;
    }
    return stringFromUnits(units.subarray(0, count));
  }
}
