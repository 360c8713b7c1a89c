import { numberMethods } from "./inner/buffer-numbers.ts";
import {
  bytesOf,
  compareBytes,
  swap,
  encodingOf,
  fillRange,
  isAscii,
  isUtf8,
  relative,
  transcode as transcoded,
} from "./inner/buffer-texts.ts";
import { search } from "./inner/buffer-search.ts";
import { sliceMethods } from "./inner/buffer-slices.ts";
import { byteLengthOf, decode, encode, type Encoding, encodingNamed, writeText } from "./inner/encodings.ts";
import { checkInteger, checkNumber, checkString, invalidArgType, nodeError, outOfRange } from "./inner/errors.ts";
import { kept, type NodeModule, shareGlobals } from "./inner/library.ts";

/** `node:buffer`. Buffers have no pool: each has its own memory, so none shows the bytes of another. */

const MAX_LENGTH = Number.MAX_SAFE_INTEGER;
const MAX_STRING = 0x1fffffe8;
const custom = Symbol.for("nodejs.util.inspect.custom");

class FastBuffer extends Uint8Array<ArrayBuffer> {}

const ofLength = FastBuffer as unknown as new (length: number) => FastBuffer;

function make(length: number): FastBuffer {
  return new ofLength(length);
}

/** Arrays of at most this many bytes have no memory outside of V8's heap until their `buffer` is read. */
const INSIDE_MAX = 64;

/** An array without other users as a buffer: a short one is copied, a long one has the same memory. */
export function bufferOver(bytes: Uint8Array): FastBuffer {
  if (bytes.length <= INSIDE_MAX) return fromList(bytes);
  return new FastBuffer(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}

/** Callable without `new`, as old code does. */
export function Buffer(this: unknown, value: unknown, encoding?: unknown, length?: unknown): unknown {
  if (typeof value !== "number") return from(value, encoding, length);
  if (typeof encoding === "string") throw invalidArgType("string", "string", value);
  return make(checkSize(value));
}

function checkSize(size: unknown): number {
  checkNumber(size, "size", 0, MAX_LENGTH);
  return size;
}

function from(value: unknown, encoding?: unknown, length?: unknown): FastBuffer {
  if (typeof value === "string") return fromText(value, encodingOf(encoding));
  if (typeof value === "object" && value !== null) {
    if (isAnyArrayBuffer(value)) return fromArrayBuffer(value, encoding, length);
    const primitive: unknown = Reflect.get(value, "valueOf");
    const inner: unknown = typeof primitive === "function" ? Reflect.apply(primitive, value, []) : value;
    if (
      inner !== value &&
      inner !== undefined &&
      inner !== null &&
      (typeof inner === "string" || typeof inner === "object")
    ) {
      return from(inner, encoding, length);
    }
    const copied = fromObject(value);
    if (copied !== undefined) return copied;
    const toPrimitive: unknown = Reflect.get(value, Symbol.toPrimitive);
    if (typeof toPrimitive === "function") {
      const text: unknown = Reflect.apply(toPrimitive, value, ["string"]);
      if (typeof text === "string") return from(text, encoding);
    }
  }
  throw invalidArgType("first argument", ["string", "Buffer", "ArrayBuffer", "Array", "Array-like Object"], value);
}

/** Most texts are ASCII: those need one array, not two. */
function fromText(text: string, encoding: Encoding): FastBuffer {
  if (encoding !== "utf8") return bufferOver(encode(text, encoding));
  const { length } = text;
  const buffer = new ofLength(length);
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x80) return bufferOver(encode(text, encoding));
    buffer[at] = unit;
  }
  return buffer;
}

function isAnyArrayBuffer(value: object): value is ArrayBuffer {
  return value instanceof ArrayBuffer || Object.prototype.toString.call(value) === "[object ArrayBuffer]";
}

function fromArrayBuffer(buffer: ArrayBuffer, offset: unknown, length: unknown): FastBuffer {
  const start = offset === undefined ? 0 : Number(offset) || 0;
  const most = buffer.byteLength - start;
  if (most < 0) throw nodeError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", '"offset" is outside of buffer bounds');
  if (length === undefined) return new FastBuffer(buffer, start);
  const wanted = Math.max(0, Number(length) || 0);
  if (wanted > most) throw nodeError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", '"length" is outside of buffer bounds');
  return new FastBuffer(buffer, start, wanted);
}

function fromObject(value: object): FastBuffer | undefined {
  const { length, type, data } = value as { length?: unknown; type?: unknown; data?: unknown };
  if (length !== undefined || isAnyArrayBuffer((value as { buffer?: object }).buffer ?? value)) {
    return typeof length === "number" ? fromList(value as ArrayLike<number>) : make(0);
  }
  return type === "Buffer" && Array.isArray(data) ? fromList(data as number[]) : undefined;
}

function fromList(list: ArrayLike<number>): FastBuffer {
  if (!(list.length > 0)) return make(0);
  const buffer = make(list.length);
  buffer.set(list);
  return buffer;
}

const statics = {
  from: function (value: unknown, encoding?: unknown, length?: unknown) {
    return from(value, encoding, length);
  },
  alloc: function (size: unknown, fill?: unknown, encoding?: unknown) {
    const buffer = make(checkSize(size));
    if (fill === undefined || fill === 0 || buffer.length === 0) return buffer;
    return Reflect.apply(methods.fill, buffer, [fill, 0, buffer.length, encoding]) as FastBuffer;
  },
  allocUnsafe: function (size: unknown) {
    return make(checkSize(size));
  },
  allocUnsafeSlow: function (size: unknown) {
    return make(checkSize(size));
  },
  isBuffer(value: unknown) {
    return value instanceof FastBuffer;
  },
  isEncoding(name: unknown) {
    return typeof name === "string" && name !== "" && encodingNamed(name) !== undefined;
  },
  compare(a: unknown, b: unknown) {
    return compareBytes(bytesOf(a, "buf1"), bytesOf(b, "buf2"));
  },
  byteLength(value: unknown, encoding?: unknown) {
    if (typeof value === "string") return byteLengthOf(value, encodingNamed(String(encoding as string)) ?? "utf8");
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength;
    throw invalidArgType("string", ["string", "Buffer", "ArrayBuffer"], value);
  },
  concat: function (list: unknown, total?: unknown) {
    if (!Array.isArray(list)) throw invalidArgType("list", "Array", list);
    if (list.length === 0) return make(0);
    const parts = list.map((one: unknown, at) => {
      const { buffer, byteOffset, byteLength } = bytesOf(one, `list[${at}]`);
      return new Uint8Array(buffer, byteOffset, byteLength);
    });
    const length = total === undefined ? parts.reduce((sum, one) => sum + one.length, 0) : total;
    checkInteger(length, "length", 0);
    const buffer = make(length);
    let at = 0;
    for (const part of parts) {
      if (at >= length) break;
      const some = at + part.length > length ? part.subarray(0, length - at) : part;
      buffer.set(some, at);
      at += some.length;
    }
    return buffer;
  },
  of(...values: number[]) {
    return fromList(values);
  },
  copyBytesFrom(view: unknown, offset: unknown = 0, length?: unknown) {
    if (!ArrayBuffer.isView(view) || view instanceof DataView) throw invalidArgType("view", "TypedArray", view);
    checkInteger(offset, "offset", 0);
    if (length !== undefined) checkInteger(length, "length", 0);
    const list = view as Uint8Array;
    const some = list.slice(offset, length === undefined ? undefined : offset + length);
    return bufferOver(new Uint8Array(some.buffer, some.byteOffset, some.byteLength)).slice();
  },
};

/** Bounds of a range by Node's rules: numbers, cut to the buffer. */
function bound(value: unknown, usual: number, length: number): number {
  if (value === undefined) return usual;
  const number = Math.trunc(Number(value)) || 0;
  return Math.min(Math.max(number, 0), length);
}

function checkBound(value: unknown, name: string, usual: number, max: number): number {
  if (value === undefined) return usual;
  checkInteger(value, name, 0, max);
  return value;
}

function writeRange(bytes: Uint8Array, text: unknown, offset: unknown, length: unknown, encoding: unknown): number {
  if (typeof text !== "string") throw invalidArgType("argument", "string", text);
  if (typeof offset === "string" && length !== undefined) throw invalidArgType("offset", "number", offset);
  let start: unknown = offset;
  let count: unknown = length;
  let named: unknown = encoding;
  if (typeof start === "string") [start, count, named] = [undefined, undefined, start];
  else if (typeof count === "string") [count, named] = [undefined, count];
  const from = checkBound(start, "offset", 0, bytes.length);
  const most = bytes.length - from;
  const room = count === undefined ? most : Math.min(checkBound(count, "length", most, bytes.length), most);
  return writeText(text, bytes.subarray(from, from + room), encodingOf(named));
}

const methods = {
  toString(this: Uint8Array, encoding?: unknown, start?: unknown, end?: unknown) {
    const from = bound(start, 0, this.length);
    const to = bound(end, this.length, this.length);
    if (to <= from) return "";
    const named = encoding === undefined ? "utf8" : encodingNamed(String(encoding as string));
    if (named === undefined)
      throw nodeError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${String(encoding as string)}`);
    return decode(from === 0 && to === this.length ? this : this.subarray(from, to), named);
  },
  write(this: Uint8Array, text: unknown, offset?: unknown, length?: unknown, encoding?: unknown) {
    return writeRange(this, text, offset, length, encoding);
  },
  toJSON(this: Uint8Array) {
    return { type: "Buffer", data: Array.from(this) };
  },
  equals(this: Uint8Array, other: unknown) {
    const bytes = bytesOf(other, "otherBuffer");
    return this === bytes || (this.length === bytes.length && compareBytes(this, bytes) === 0);
  },
  compare(this: Uint8Array, target: unknown, start?: unknown, end?: unknown, thisStart?: unknown, thisEnd?: unknown) {
    const bytes = bytesOf(target, "target");
    const from = checkBound(start, "targetStart", 0, MAX_LENGTH);
    const to = checkBound(end, "targetEnd", bytes.length, bytes.length);
    const ownFrom = checkBound(thisStart, "sourceStart", 0, MAX_LENGTH);
    const ownTo = checkBound(thisEnd, "sourceEnd", this.length, this.length);
    if (ownFrom >= ownTo) return from >= to ? 0 : -1;
    if (from >= to) return 1;
    return compareBytes(this.subarray(ownFrom, ownTo), bytes.subarray(from, to));
  },
  copy(this: Uint8Array, target: unknown, targetStart: unknown = 0, start: unknown = 0, end?: unknown) {
    if (!ArrayBuffer.isView(target)) throw invalidArgType("target", ["Buffer", "Uint8Array"], target);
    const bytes =
      target instanceof Uint8Array ? target : new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
    const to = Math.trunc(Number(targetStart)) || 0;
    const from = Math.trunc(Number(start)) || 0;
    const last = end === undefined ? this.length : Math.trunc(Number(end)) || 0;
    if (to < 0) throw outOfRange("targetStart", ">= 0", targetStart);
    if (from < 0 || from > this.length) throw outOfRange("sourceStart", `>= 0 && <= ${this.length}`, start);
    if (last < 0) throw outOfRange("sourceEnd", ">= 0", end);
    const count = Math.min(Math.min(last, this.length) - from, bytes.length - to);
    if (count <= 0) return 0;
    bytes.set(this.subarray(from, from + count), to);
    return count;
  },
  slice(this: FastBuffer, start?: number, end?: number) {
    return this.subarray(start, end);
  },
  subarray(this: FastBuffer, start?: unknown, end?: unknown) {
    const from = relative(start, 0, this.length);
    const to = relative(end, this.length, this.length);
    return new FastBuffer(this.buffer, this.byteOffset + from, Math.max(0, to - from));
  },
  fill(this: Uint8Array, value: unknown, offset?: unknown, end?: unknown, encoding?: unknown) {
    let [start, last, named] = [offset, end, encoding];
    if (typeof start === "string") [start, last, named] = [undefined, undefined, start];
    else if (typeof last === "string") [last, named] = [undefined, last];
    const from = checkBound(start, "offset", 0, this.length);
    const to = checkBound(last, "end", this.length, this.length);
    fillRange(this.subarray(from, Math.max(from, to)), value, named);
    return this;
  },
  indexOf(this: Uint8Array, value: unknown, start?: unknown, encoding?: unknown) {
    return search(this, value, start, encoding, true);
  },
  lastIndexOf(this: Uint8Array, value: unknown, start?: unknown, encoding?: unknown) {
    return search(this, value, start, encoding, false);
  },
  includes(this: Uint8Array, value: unknown, start?: unknown, encoding?: unknown) {
    return search(this, value, start, encoding, true) >= 0;
  },
  swap16(this: Uint8Array) {
    return swap(this, 2);
  },
  swap32(this: Uint8Array) {
    return swap(this, 4);
  },
  swap64(this: Uint8Array) {
    return swap(this, 8);
  },
};

function inspectBuffer(this: Uint8Array): string {
  const max = inspectBytes();
  const shown = Array.from(this.subarray(0, max), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  const more = this.length - max;
  const name = (this.constructor as { name?: string }).name ?? "Buffer";
  return `<${name} ${shown}${more > 0 ? ` ... ${more} more byte${more > 1 ? "s" : ""}` : ""}>`;
}

const sizes = (): { poolSize: number; inspectBytes: number } =>
  kept("buffer", () => ({ poolSize: 8192, inspectBytes: 50 }));
const inspectBytes = (): number => sizes().inspectBytes;

const all: { [name: string | symbol]: unknown } = {
  ...numberMethods(),
  ...methods,
  ...sliceMethods(methods.toString, writeRange),
  toLocaleString: methods.toString,
  inspect: inspectBuffer,
  [custom]: inspectBuffer,
};
for (const key of Reflect.ownKeys(all)) {
  Object.defineProperty(FastBuffer.prototype, key, { value: all[key], writable: true, configurable: true });
}
Object.defineProperties(FastBuffer.prototype, {
  constructor: { value: Buffer, writable: true, configurable: true },
  parent: { get: parent, enumerable: true, configurable: true },
  offset: { get: offset, enumerable: true, configurable: true },
});
function parent(this: unknown): unknown {
  return this instanceof FastBuffer ? this.buffer : undefined;
}
function offset(this: unknown): unknown {
  return this instanceof FastBuffer ? this.byteOffset : undefined;
}
// The name explicitly: a bundler renames functions that are named like a global.
Object.defineProperties(Buffer, {
  name: { value: "Buffer" },
  prototype: { value: FastBuffer.prototype, writable: false },
});
Object.setPrototypeOf(Buffer, Uint8Array);
for (const [name, value] of Object.entries(statics)) {
  Object.defineProperty(Buffer, name, { value, writable: true, enumerable: true, configurable: true });
}
Object.defineProperties(Buffer, {
  poolSize: {
    enumerable: true,
    get: () => sizes().poolSize,
    set: (size: number) => {
      sizes().poolSize = size;
    },
  },
  [Symbol.species]: { get: () => FastBuffer, configurable: true },
});

function SlowBuffer(size: unknown): unknown {
  return make(checkSize(size));
}

function transcode(source: unknown, from: unknown, to: unknown): FastBuffer {
  return bufferOver(transcoded(source, from, to));
}

function decodeAtob(text: unknown): string {
  checkString(text, "data");
  return atob(text);
}

const constants = { MAX_LENGTH, MAX_STRING_LENGTH: MAX_STRING };

/** `INSPECT_MAX_BYTES` may be set, and the web's classes are made when they are read. */
export const shared: NodeModule = {
  Buffer,
  SlowBuffer,
  transcode,
  isUtf8,
  isAscii,
  kMaxLength: MAX_LENGTH,
  kStringMaxLength: MAX_STRING,
  constants,
  atob: decodeAtob,
  btoa: (text: string) => btoa(text),
  resolveObjectURL: () => undefined,
};
shareGlobals(shared, ["Blob", "File"]);
Object.defineProperty(shared, "INSPECT_MAX_BYTES", {
  get: () => sizes().inspectBytes,
  set: (count: number) => {
    checkNumber(count, "INSPECT_MAX_BYTES", 0);
    sizes().inspectBytes = count;
  },
});
export const hidden = [FastBuffer];
