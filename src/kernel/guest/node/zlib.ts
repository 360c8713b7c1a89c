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

/** Passes each part of the output on; throws where the input is broken or the output too long. */
class Coding {
  readonly #coder: Coder;
  readonly #isInflating: boolean;
  #length = 0;
  #isDone = false;

  constructor(format: Format, isInflating: boolean, options: Options, take: (chunk: Uint8Array) => void) {
    this.#coder = coderOf(format, isInflating, options);
    this.#isInflating = isInflating;
    const most = options.maxOutputLength ?? OUTPUT_MAX;
    this.#coder.onData = (chunk) => {
      this.#length += chunk.length;
      if (this.#length > most)
        throw nodeError(RangeError, "ERR_BUFFER_TOO_LARGE", `Cannot create a Buffer larger than ${most} bytes`);
      take(chunk);
    };
    this.#coder.onEnd = () => {
      this.#isDone = true;
    };
  }

  push(bytes: Uint8Array, isLast: boolean): void {
    if (this.#isDone && this.#isInflating) return;
    if (bytes.length > 0 || !this.#isInflating) this.#coder.push(bytes, isLast && !this.#isInflating);
    if (this.#coder.err !== 0) throw failure(this.#coder);
    if (isLast && this.#isInflating && !this.#isDone) throw failure(this.#coder);
  }
}

const { concat } = Buffer as unknown as { concat(list: readonly unknown[]): Uint8Array };

function sync(format: Format, isInflating: boolean, data: unknown, options: Options = {}): unknown {
  const parts: Uint8Array[] = [];
  const coding = new Coding(format, isInflating, options, (chunk) => void parts.push(chunk));
  coding.push(dataOf(data, "buffer"), true);
  return concat(parts);
}

/** Whatever the data begins with. */
function unzipFormat(data: unknown): Format {
  const [first, second] = dataOf(data, "buffer");
  return first === 0x1f && second === 0x8b ? "gzip" : "deflate";
}

const { Transform } = streams as unknown as { Transform: new (options: object) => object };

interface Sink {
  push(chunk: unknown): void;
}

type Class = (...args: never[]) => unknown;

function streamOf(format: Format | "any", isInflating: boolean, options: Options, of: Class): object {
  let coding: Coding | null = null;
  const run = (sink: Sink, chunk: Uint8Array, isLast: boolean, done: (error?: unknown) => void): void => {
    try {
      const known = format === "any" ? unzipFormat(chunk) : format;
      coding ??= new Coding(known, isInflating, options, (part) => sink.push(bufferOver(part)));
      coding.push(chunk, isLast);
    } catch (error) {
      return done(error);
    }
    return done();
  };
  const methods = {
    ...options,
    transform(this: Sink, chunk: Uint8Array, _encoding: unknown, done: (error?: unknown) => void) {
      run(this, dataOf(chunk, "chunk"), false, done);
    },
    flush(this: Sink, done: (error?: unknown) => void) {
      run(this, new Uint8Array(0), true, done);
    },
  };
  return Reflect.construct(Transform, [methods], of) as object;
}

function close(this: { destroy(): void }, done?: (error?: unknown) => void): void {
  this.destroy();
  if (done !== undefined) soon(done);
}

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
  // Callable without `new`, and extended by classes of packages.
  const made = function (options: Options = {}): unknown {
    return streamOf(format, isInflating, options, (new.target as Class | undefined) ?? made);
  };
  made.prototype = Object.create(Transform.prototype as object, {
    constructor: { value: made, writable: true, configurable: true },
    close: { value: close, writable: true, configurable: true },
  });
  own[`create${className}`] = (options?: Options) => made(options);
  own[className] = made;
}

export const shared: NodeModule = own;
