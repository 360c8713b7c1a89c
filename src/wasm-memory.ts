/** Rewrites how far a WebAssembly module's memory may grow. */

const HEADER_BYTES = 8;
const MEMORY_SECTION = 5;
const HAS_MAXIMUM = 1;

/** A page of WebAssembly's memory, in bytes. */
export const PAGE_BYTES = 65_536;

/** The module with a maximum of at most `maxPages`. Throws a `TypeError` where it is none whose memory can be limited. */
export function limitMemory(bytes: Uint8Array, maxPages: number): Uint8Array {
  const parts: Uint8Array[] = [bytes.subarray(0, HEADER_BYTES)];
  const reader = new Reader(bytes, HEADER_BYTES);
  while (!reader.isAtEnd) {
    const start = reader.at;
    const id = reader.byte();
    const length = reader.number();
    const end = reader.at + length;
    if (end > bytes.length) throw new TypeError("a section is longer than the module");
    if (id === MEMORY_SECTION) parts.push(memorySection(reader, maxPages));
    else parts.push(bytes.subarray(start, end));
    reader.at = end;
  }
  return Uint8Array.from(Buffer.concat(parts));
}

function memorySection(reader: Reader, maxPages: number): Uint8Array {
  if (reader.number() !== 1) throw new TypeError("it has more than one memory");
  const flags = reader.byte();
  if ((flags & ~HAS_MAXIMUM) !== 0) throw new TypeError("its memory is shared, or has addresses of 64 bits");
  const minimum = reader.number();
  const maximum = (flags & HAS_MAXIMUM) === 0 ? maxPages : Math.min(reader.number(), maxPages);
  if (minimum > maximum) {
    throw new TypeError(`its memory has at least ${minimum} pages, more than the ${maximum} that it may have`);
  }
  const body = [1, HAS_MAXIMUM, ...encode(minimum), ...encode(maximum)];
  return Uint8Array.from([MEMORY_SECTION, ...encode(body.length), ...body]);
}

/** LEB128, as WebAssembly writes numbers. */
function encode(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return [...bytes, left];
    bytes.push((left % 128) | 128);
  }
}

class Reader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw new TypeError("the module ends too early");
    return byte;
  }

  number(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    throw new TypeError("a number in the module is too long");
  }
}
