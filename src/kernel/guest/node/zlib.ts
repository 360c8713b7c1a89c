import { Deflate, Inflate } from "pako";
import { Buffer, bufferOver } from "./buffer.ts";
import { dataOf, deliver } from "./crypto.ts";
import { nodeError } from "./inner/errors.ts";
import { type NodeModule, soon } from "./inner/library.ts";
import { shared as streams } from "./stream.ts";
import { codes, zlib as constants } from "./tables.ts";

/** `node:zlib`: deflate and gzip. */

type Format = "gzip" | "deflate" | "raw";

interface Options {
  readonly level?: number;
  readonly windowBits?: number;
  readonly memLevel?: number;
  readonly strategy?: number;
  readonly dictionary?: unknown;
  readonly maxOutputLength?: number;
  readonly chunkSize?: number;
}

interface Coder {
  push(bytes: Uint8Array, flush: number | boolean): boolean;
  onData: (chunk: Uint8Array) => void;
  onEnd: (status: number) => void;
  readonly err: number;
  readonly msg: string;
}

const OUTPUT_MAX = 256 * 1024 * 1024;

function coderOf(format: Format, isInflating: boolean, options: Options): Coder {
  const { level, windowBits = 15, memLevel, strategy, dictionary } = options;
  const given = {
    ...(level === undefined ? {} : { level }),
    ...(memLevel === undefined ? {} : { memLevel }),
    ...(strategy === undefined ? {} : { strategy }),
    ...(dictionary === undefined ? {} : { dictionary: dataOf(dictionary, "options.dictionary") }),
  };
  const bits = { raw: format === "raw", windowBits: format === "gzip" ? windowBits + 16 : windowBits };
  const made: unknown = isInflating
    ? new Inflate({ ...given, ...bits } as object)
    : new Deflate({ ...given, ...bits, gzip: format === "gzip" } as object);
  return made as Coder;
}

function failure({ err, msg }: Coder): Error {
  const [code, errno] = err === -5 || err === 0 ? ["Z_BUF_ERROR", -5] : ["Z_DATA_ERROR", -3];
  return Object.assign(nodeError(Error, code as string, err === 0 || msg === "" ? "unexpected end of file" : msg), {
    errno,
  });
}

type Take = (part: Uint8Array) => void;

/** Passes each part of the output on; throws if the input is broken or the output too long. */
class Coding {
  readonly #coder: Coder;
  readonly #isInflating: boolean;
  #length = 0;
  #isDone = false;
  #take: Take | null = null;

  constructor(format: Format, isInflating: boolean, options: Options) {
    this.#coder = coderOf(format, isInflating, options);
    this.#isInflating = isInflating;
    const most = options.maxOutputLength ?? OUTPUT_MAX;
    this.#coder.onData = (chunk) => {
      this.#length += chunk.length;
      if (this.#length > most)
        throw nodeError(RangeError, "ERR_BUFFER_TOO_LARGE", `Cannot create a Buffer larger than ${most} bytes`);
      this.#take?.(chunk);
    };
    this.#coder.onEnd = () => {
      this.#isDone = true;
    };
  }

  push(bytes: Uint8Array, isLast: boolean, take: Take): void {
    this.#take = take;
    if (this.#isDone && this.#isInflating) return;
    if (bytes.length > 0 || !this.#isInflating) this.#coder.push(bytes, isLast && !this.#isInflating);
    if (this.#coder.err !== 0) throw failure(this.#coder);
    if (isLast && this.#isInflating && !this.#isDone) throw failure(this.#coder);
  }
}

const { concat, allocUnsafe } = Buffer as unknown as {
  concat(list: readonly unknown[]): Uint8Array;
  allocUnsafe(size: number): Uint8Array;
};

function sync(format: Format, isInflating: boolean, data: unknown, options: Options = {}): unknown {
  const parts: Uint8Array[] = [];
  new Coding(format, isInflating, options).push(dataOf(data, "buffer"), true, (part) => void parts.push(part));
  return concat(parts);
}

/** The format, from the first bytes of the data. */
function unzipFormat(data: unknown): Format {
  const [first, second] = dataOf(data, "buffer");
  return first === 0x1f && second === 0x8b ? "gzip" : "deflate";
}

const { Transform } = streams as unknown as { Transform: (this: object, options: object) => void };
const STATE = Symbol("state");
const NOTHING = new Uint8Array(0);

/** State of a stream of these classes, besides that of a `Transform`. */
interface State {
  readonly format: Format | "any";
  readonly isInflating: boolean;
  readonly options: Options;
  coding: Coding | null;
  /** For packages that use the binding themselves; made on first use. */
  handle?: unknown;
  buffer?: unknown;
}

interface Zlib {
  [STATE]: State;
  _handle: unknown;
  readonly _writeState: Uint32Array;
  readonly destroyed: boolean;
  push(chunk: unknown): void;
  destroy(): void;
}

/** Callable without `new`: classes that were written before the language had them inherit from these. */
function Zlib(this: Zlib, format: Format | "any", isInflating: boolean, given?: Options | null): void {
  const options = given ?? {};
  Reflect.apply(Transform, this, [{ autoDestroy: true, ...options }]);
  this[STATE] = { format, isInflating, options, coding: null };
  const { chunkSize = CHUNK } = options;
  Object.assign(this, { _chunkSize: chunkSize, _outOffset: 0, _writeState: new Uint32Array(2) });
}

const { Z_FINISH } = constants;
const CHUNK = 16_384;

function code(stream: Zlib, chunk: Uint8Array, isLast: boolean, take: Take): void {
  const state = stream[STATE];
  const format = state.format === "any" ? unzipFormat(chunk) : state.format;
  state.coding ??= new Coding(format, state.isInflating, state.options);
  state.coding.push(chunk, isLast, take);
}

type Done = (error?: unknown) => void;

function run(stream: Zlib, chunk: Uint8Array, isLast: boolean, done: Done): void {
  try {
    code(stream, chunk, isLast, (part) => stream.push(bufferOver(part)));
  } catch (error) {
    return done(error);
  }
  return done();
}

type HandleWrite = [
  flush: number,
  input: Uint8Array | null,
  start: number,
  length: number,
  output: Uint8Array,
  offset: number,
  room: number,
];

/** Node's binding, as far as packages run it themselves (pngjs does): output waits here for the room it is given. */
class Handle {
  readonly #stream: Zlib;
  #waiting: Uint8Array = NOTHING;

  constructor(stream: Zlib) {
    this.#stream = stream;
  }

  writeSync(...[flush, input, start, length, output, offset, room]: HandleWrite): void {
    const chunk = input?.subarray(start, start + length) ?? NOTHING;
    const parts = [this.#waiting];
    try {
      code(this.#stream, chunk, flush === Z_FINISH, (part) => void parts.push(part));
    } catch {
      // As in Node: the stream ends, and the data before the fault is available.
      this.#stream.destroy();
    }
    const whole = concat(parts);
    output.set(whole.subarray(0, room), offset);
    this.#waiting = whole.subarray(room);
    this.#stream._writeState.set([Math.max(room - whole.length, 0), 0]);
  }

  close(): void {
    this.#waiting = NOTHING;
  }
}

Object.setPrototypeOf(Zlib.prototype, (Transform as unknown as { prototype: object }).prototype);
Object.defineProperties(
  Zlib.prototype,
  Object.getOwnPropertyDescriptors({
    _transform(this: Zlib, chunk: Uint8Array, _encoding: unknown, done: Done): void {
      run(this, dataOf(chunk, "chunk"), false, done);
    },
    _flush(this: Zlib, done: Done): void {
      run(this, NOTHING, true, done);
    },
    _processChunk(this: Zlib, chunk: unknown, flush: number, done?: Done): unknown {
      const bytes = dataOf(chunk, "chunk");
      if (done !== undefined) return run(this, bytes, flush === Z_FINISH, done);
      const parts: Uint8Array[] = [];
      code(this, bytes, flush === Z_FINISH, (part) => void parts.push(part));
      return concat(parts);
    },
    close(this: Zlib, done?: Done): void {
      this.destroy();
      if (done !== undefined) soon(done);
    },
    get _handle(): unknown {
      const stream = this as unknown as Zlib;
      if (stream.destroyed) return null;
      const state = stream[STATE];
      return state.handle === undefined ? (state.handle = new Handle(stream)) : state.handle;
    },
    set _handle(handle: unknown) {
      (this as unknown as Zlib)[STATE].handle = handle;
    },
    get _outBuffer(): unknown {
      const state = (this as unknown as Zlib)[STATE];
      return (state.buffer ??= allocUnsafe(state.options.chunkSize ?? CHUNK));
    },
    set _outBuffer(buffer: unknown) {
      (this as unknown as Zlib)[STATE].buffer = buffer;
    },
  }),
);

const FORMS: readonly (readonly [name: string, className: string, format: Format | "any", isInflating: boolean])[] = [
  ["deflate", "Deflate", "deflate", false],
  ["inflate", "Inflate", "deflate", true],
  ["gzip", "Gzip", "gzip", false],
  ["gunzip", "Gunzip", "gzip", true],
  ["deflateRaw", "DeflateRaw", "raw", false],
  ["inflateRaw", "InflateRaw", "raw", true],
  ["unzip", "Unzip", "any", true],
];

const table = ((): Uint32Array => {
  const made = new Uint32Array(256);
  for (let at = 0; at < 256; at++) {
    let value = at;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    made[at] = value;
  }
  return made;
})();

function crc32(data: unknown, before = 0): number {
  let value = ~before;
  for (const byte of dataOf(data, "data")) value = (value >>> 8) ^ (table[(value ^ byte) & 0xff] ?? 0);
  return ~value >>> 0;
}

const own: NodeModule = { constants, codes, crc32, ...constants };
for (const [name, className, format, isInflating] of FORMS) {
  const once = (data: unknown, options?: Options): unknown =>
    sync(format === "any" ? unzipFormat(data) : format, isInflating, data, options);
  own[`${name}Sync`] = once;
  own[name] = (data: unknown, ...rest: readonly unknown[]): void => {
    deliver(() => once(data, rest.length > 1 ? (rest[0] as Options) : {}), rest.at(-1) ?? null);
  };
  const made = function (this: unknown, options?: Options): unknown {
    if (!(this instanceof made)) return Reflect.construct(made, [options]);
    Zlib.call(this as Zlib, format, isInflating, options);
    return undefined;
  };
  made.prototype = Object.create(Zlib.prototype as object, {
    constructor: { value: made, writable: true, configurable: true },
  });
  Object.defineProperty(made, "name", { value: className });
  own[`create${className}`] = (options?: Options) => Reflect.construct(made, [options]) as unknown;
  own[className] = made;
}

export const shared: NodeModule = own;
export const hidden = [Handle.prototype, Coding];
