import { invalidArgType, nodeError, outOfRange } from "./errors.ts";

/** The methods of `Buffer` that read and write numbers. */

type Bytes = Uint8Array;
type Method = (this: Bytes, ...args: never[]) => unknown;

function viewOf(bytes: Bytes): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function checkOffset(bytes: Bytes, offset: unknown, size: number): number {
  if (typeof offset !== "number") throw invalidArgType("offset", "number", offset);
  if (Math.floor(offset) !== offset) throw outOfRange("offset", "an integer", offset);
  const last = bytes.length - size;
  if (last < 0)
    throw nodeError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", "Attempt to access memory outside buffer bounds");
  if (offset < 0 || offset > last) throw outOfRange("offset", `>= 0 and <= ${last}`, offset);
  return offset;
}

interface Kind {
  readonly name: string;
  readonly size: number;
  readonly read: (view: DataView, at: number, little: boolean) => number | bigint;
  readonly write: (view: DataView, at: number, value: never, little: boolean) => void;
}

const KINDS: readonly Kind[] = [
  { name: "UInt8", size: 1, read: (v, at) => v.getUint8(at), write: (v, at, x) => v.setUint8(at, x) },
  { name: "Int8", size: 1, read: (v, at) => v.getInt8(at), write: (v, at, x) => v.setInt8(at, x) },
  {
    name: "UInt16",
    size: 2,
    read: (v, at, le) => v.getUint16(at, le),
    write: (v, at, x, le) => v.setUint16(at, x, le),
  },
  { name: "Int16", size: 2, read: (v, at, le) => v.getInt16(at, le), write: (v, at, x, le) => v.setInt16(at, x, le) },
  {
    name: "UInt32",
    size: 4,
    read: (v, at, le) => v.getUint32(at, le),
    write: (v, at, x, le) => v.setUint32(at, x, le),
  },
  { name: "Int32", size: 4, read: (v, at, le) => v.getInt32(at, le), write: (v, at, x, le) => v.setInt32(at, x, le) },
  {
    name: "BigUInt64",
    size: 8,
    read: (v, at, le) => v.getBigUint64(at, le),
    write: (v, at, x, le) => v.setBigUint64(at, x, le),
  },
  {
    name: "BigInt64",
    size: 8,
    read: (v, at, le) => v.getBigInt64(at, le),
    write: (v, at, x, le) => v.setBigInt64(at, x, le),
  },
  {
    name: "Float",
    size: 4,
    read: (v, at, le) => v.getFloat32(at, le),
    write: (v, at, x, le) => v.setFloat32(at, x, le),
  },
  {
    name: "Double",
    size: 8,
    read: (v, at, le) => v.getFloat64(at, le),
    write: (v, at, x, le) => v.setFloat64(at, x, le),
  },
];

interface Range {
  readonly min: number | bigint;
  readonly max: number | bigint;
  readonly isSigned: boolean;
}

/** The integers that fit into a number of bytes. */
function integersOf(size: number, isSigned: boolean): Range {
  const [min, count] = [isSigned ? -(2 ** (8 * size - 1)) : 0, 2 ** (8 * size)];
  return { min, max: min + count - 1, isSigned };
}

/** The values of a kind; `null` if it accepts any number. */
function valuesOf({ name, size }: Kind): Range | null {
  if (!name.includes("Int")) return null;
  const isSigned = !name.includes("UInt");
  if (!name.startsWith("Big")) return integersOf(size, isSigned);
  const min = isSigned ? -(2n ** 63n) : 0n;
  return { min, max: min + 2n ** 64n - 1n, isSigned };
}

function checkValue(value: unknown, range: Range | null, size: number): void {
  if (range === null) return;
  const { min, max } = range;
  if (typeof min !== typeof value) throw invalidArgType("value", typeof min, value);
  if ((value as number) >= min && (value as number) <= max) return;
  if (Number.isNaN(value)) return;
  throw outOfRange("value", rangeOf(range, size), value);
}

function rangeOf({ min, max, isSigned }: Range, size: number): string {
  const n = typeof min === "bigint" ? "n" : "";
  if (size <= 4) return `>= ${min}${n} and <= ${max}${n}`;
  const bits = size * 8;
  return isSigned
    ? `>= -(2${n} ** ${bits - 1}${n}) and < 2${n} ** ${bits - 1}${n}`
    : `>= 0${n} and < 2${n} ** ${bits}${n}`;
}

function readerOf(kind: Kind, little: boolean): Method {
  return function (this: Bytes, offset: unknown = 0) {
    return kind.read(viewOf(this), checkOffset(this, offset, kind.size), little);
  };
}

function writerOf(kind: Kind, little: boolean): Method {
  const values = valuesOf(kind);
  return function (this: Bytes, value: unknown, offset: unknown = 0) {
    const number = kind.name.startsWith("Big") ? value : +(value as number);
    checkValue(number, values, kind.size);
    const at = checkOffset(this, offset, kind.size);
    kind.write(viewOf(this), at, number as never, little);
    return at + kind.size;
  };
}

function checkLength(length: unknown): asserts length is number {
  if (typeof length !== "number") throw invalidArgType("byteLength", "number", length);
  if (Math.floor(length) !== length) throw outOfRange("byteLength", "an integer", length);
  if (length < 1 || length > 6) throw outOfRange("byteLength", ">= 1 and <= 6", length);
}

function readLong(signed: boolean, little: boolean): Method {
  return function (this: Bytes, offset: unknown, length: unknown) {
    if (offset === undefined) throw invalidArgType("offset", "number", offset);
    checkLength(length);
    const start = checkOffset(this, offset, length);
    let value = 0;
    for (let at = 0; at < length; at++)
      value = value * 256 + (this[little ? start + length - 1 - at : start + at] ?? 0);
    return signed && value >= 2 ** (8 * length - 1) ? value - 2 ** (8 * length) : value;
  };
}

function writeLong(signed: boolean, little: boolean): Method {
  return function (this: Bytes, given: unknown, offset: unknown, length: unknown) {
    checkLength(length);
    const value = +(given as number);
    const values = integersOf(length, signed);
    if (value > values.max || value < values.min) throw outOfRange("value", rangeOf(values, length), value);
    if (offset === undefined) throw invalidArgType("offset", "number", offset);
    const start = checkOffset(this, offset, length);
    let rest = value < 0 ? value + 2 ** (8 * length) : value;
    for (let at = 0; at < length; at++) {
      this[little ? start + at : start + length - 1 - at] = rest % 256;
      rest = Math.floor(rest / 256);
    }
    return start + length;
  };
}

/** Names are those of Node, with its second spelling of unsigned ones. */
export function numberMethods(): { readonly [name: string]: Method } {
  const methods: { [name: string]: Method } = {};
  const add = (name: string, method: Method): void => {
    Object.defineProperty(method, "name", { value: name, configurable: true });
    methods[name] = method;
    if (name.includes("UInt")) methods[name.replace("UInt", "Uint")] = method;
  };
  for (const kind of KINDS) {
    for (const end of kind.size === 1 ? [""] : ["LE", "BE"]) {
      add(`read${kind.name}${end}`, readerOf(kind, end === "LE"));
      add(`write${kind.name}${end}`, writerOf(kind, end === "LE"));
    }
  }
  for (const end of ["LE", "BE"]) {
    for (const sign of ["UInt", "Int"]) {
      add(`read${sign}${end}`, readLong(sign === "Int", end === "LE"));
      add(`write${sign}${end}`, writeLong(sign === "Int", end === "LE"));
    }
  }
  return methods;
}
