import { decode, type Encoding, encodingNamed } from "./encodings.ts";
import { invalidArgType, nodeError } from "./errors.ts";
import { join } from "./asn1.ts";

/** `StringDecoder` of `node:string_decoder`: it keeps the bytes of a character until all of them have arrived. */

const NOTHING = new Uint8Array(0);

/** Number of bytes of a character that begins with `lead`. */
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

interface State {
  readonly encoding: Encoding;
  kept: Uint8Array;
  size: number;
}

const states = new WeakMap<object, State>();

function stateOf(decoder: object): State {
  const state = states.get(decoder);
  if (state === undefined)
    throw nodeError(TypeError, "ERR_INVALID_THIS", 'Value of "this" must be of type StringDecoder');
  return state;
}

/** Callable without `new`, as classes written before the language had them call it. */
export function StringDecoder(this: object & { encoding: string }, encoding?: unknown): void {
  const known = encoding === undefined || encoding === null ? "utf8" : encodingNamed(String(encoding as string));
  if (known === undefined)
    throw nodeError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${String(encoding as string)}`);
  this.encoding = known;
  states.set(this, { encoding: known, kept: NOTHING, size: 0 });
}

function write(state: State, chunk: unknown): string {
  if (typeof chunk === "string") return chunk;
  if (!ArrayBuffer.isView(chunk)) throw invalidArgType("buf", ["Buffer", "TypedArray", "DataView"], chunk);
  const bytes = new Uint8Array(chunk.buffer as ArrayBuffer, chunk.byteOffset, chunk.byteLength);
  const all = state.kept.length === 0 ? bytes : join(state.kept, bytes);
  const { kept, size } = unfinished(all, state.encoding);
  state.kept = kept === 0 ? NOTHING : all.slice(all.length - kept);
  state.size = size;
  return all.length === kept ? "" : decode(all.subarray(0, all.length - kept), state.encoding);
}

function take(state: State): string {
  const { kept, encoding } = state;
  state.kept = NOTHING;
  state.size = 0;
  return kept.length === 0 ? "" : decode(kept, encoding);
}

Object.assign(StringDecoder.prototype as object, {
  write(this: object, chunk: unknown): string {
    return write(stateOf(this), chunk);
  },
  end(this: object, chunk?: unknown): string {
    const state = stateOf(this);
    const text = chunk === undefined ? "" : write(state, chunk);
    return text + take(state);
  },
  text(this: object, chunk: Uint8Array, offset: number): string {
    const state = stateOf(this);
    take(state);
    return write(state, chunk.subarray(offset));
  },
});
Object.defineProperties(StringDecoder.prototype as object, {
  lastNeed: {
    get(this: object) {
      const { size, kept } = stateOf(this);
      return size - kept.length;
    },
  },
  lastTotal: {
    get(this: object) {
      return stateOf(this).size;
    },
  },
});
