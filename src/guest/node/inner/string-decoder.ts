import { decode, type Encoding, encodingNamed } from "./encodings.ts";
import { invalidArgType, nodeError } from "./errors.ts";
import { join } from "./asn1.ts";

/** `StringDecoder` of `node:string_decoder`: it keeps the bytes of a character until all of them are there. */

const NOTHING = new Uint8Array(0);

/** How many bytes a character has that begins with `lead`. */
function sizeOf(lead: number): number {
  if (lead < 0xc2 || lead > 0xf4) return 1;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/** The second byte of some characters has narrower bounds, so that each has one form only. */
function mayFollow(lead: number, byte: number): boolean {
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  return byte >= low && byte <= high;
}

/** The bytes at the end that are the beginning of a character, and the size of that character. */
function unfinished(bytes: Uint8Array, encoding: Encoding): { readonly kept: number; readonly size: number } {
  const { length } = bytes;
  switch (encoding) {
    case "utf8":
      for (let kept = 1; kept <= Math.min(3, length); kept++) {
        const lead = bytes[length - kept] ?? 0;
        if (lead >= 0x80 && lead < 0xc0) continue;
        const size = sizeOf(lead);
        const isOpen = size > kept && (kept === 1 || mayFollow(lead, bytes[length - kept + 1] ?? 0));
        return isOpen ? { kept, size } : { kept: 0, size: 0 };
      }
      return { kept: 0, size: 0 };
    case "utf16le": {
      const odd = length % 2;
      const high = bytes[length - odd - 1] ?? 0;
      const isSurrogate = length - odd >= 2 && high >= 0xd8 && high <= 0xdb;
      return isSurrogate ? { kept: odd + 2, size: 4 } : { kept: odd, size: odd * 2 };
    }
    case "base64":
    case "base64url":
      return { kept: length % 3, size: length % 3 === 0 ? 0 : 3 };
    default:
      return { kept: 0, size: 0 };
  }
}

export class StringDecoder {
  readonly encoding: string;
  readonly #encoding: Encoding;
  #kept: Uint8Array = NOTHING;
  #size = 0;

  constructor(encoding?: unknown) {
    const known = encoding === undefined || encoding === null ? "utf8" : encodingNamed(String(encoding as string));
    if (known === undefined)
      throw nodeError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${String(encoding as string)}`);
    this.encoding = known;
    this.#encoding = known;
  }

  write(chunk: unknown): string {
    if (typeof chunk === "string") return chunk;
    if (!ArrayBuffer.isView(chunk)) throw invalidArgType("buf", ["Buffer", "TypedArray", "DataView"], chunk);
    const bytes = new Uint8Array(chunk.buffer as ArrayBuffer, chunk.byteOffset, chunk.byteLength);
    const all = this.#kept.length === 0 ? bytes : join(this.#kept, bytes);
    const { kept, size } = unfinished(all, this.#encoding);
    this.#kept = kept === 0 ? NOTHING : all.slice(all.length - kept);
    this.#size = size;
    return all.length === kept ? "" : decode(all.subarray(0, all.length - kept), this.#encoding);
  }

  end(chunk?: unknown): string {
    const text = chunk === undefined ? "" : this.write(chunk);
    const rest = this.#kept;
    this.#kept = NOTHING;
    this.#size = 0;
    return rest.length === 0 ? text : text + decode(rest, this.#encoding);
  }

  text(chunk: Uint8Array, offset: number): string {
    this.#kept = NOTHING;
    this.#size = 0;
    return this.write(chunk.subarray(offset));
  }

  get lastNeed(): number {
    return this.#size - this.#kept.length;
  }

  get lastTotal(): number {
    return this.#size;
  }

  get lastChar(): Uint8Array {
    const bytes = new Uint8Array(4);
    bytes.set(this.#kept);
    return bytes;
  }
}
