import { DIGITS_MAX, digitsOf, rawDigits } from "../../base/exact-json.ts";
import { NESTING_MAX } from "../../base/json.ts";
import { isWritable } from "../../base/json-writer.ts";

/** A value is no plain data, or is too deep or too irregular to copy quickly. */
export const NOT_PLAIN = Symbol("not plain");
/** The JSON of a value has more bytes than its limit. */
export const TOO_LARGE = Symbol("too large");

/** The room that a copy has left, and whether it has a `WideObject`. */
interface Copying {
  /** Bytes of JSON left; negative once the value is too large. */
  leftBytes: number;
  isWide: boolean;
}

/** Number of members that V8 keeps in an object without a hash table. */
const NARROW_MAX = 1_000;
/** Minimum length of a text that is copied into one piece, in UTF-16 units: a shorter one is not worth the copy. */
const LONG_TEXT = 4 * 1024;
const EMPTY_OBJECT = Object.freeze({});
const EMPTY_LIST = Object.freeze([]);

/** An object with so many members that creating it, and listing its members again, takes longer than writing it. */
class WideObject {
  readonly names: readonly string[];
  /** `undefined` for a member that JSON leaves out. */
  readonly values: readonly unknown[];

  constructor(names: readonly string[], values: readonly unknown[]) {
    this.names = names;
    this.values = values;
  }
}

/**
 * JSON of plain data, each property read once; `NOT_PLAIN` for values that JSON changes. Stops with `TOO_LARGE` after
 * `maxBytes`, so that a value costs no more than its limit, regardless of its size. The count is never above the bytes
 * of the JSON: a text with characters beyond ASCII may still be too large.
 */
export function writePlain(
  value: unknown,
  maxBytes = Number.POSITIVE_INFINITY,
): string | typeof NOT_PLAIN | typeof TOO_LARGE {
  const copying: Copying = { leftBytes: maxBytes, isWide: false };
  const copy = copyValue(value, 0, copying);
  if (copying.leftBytes < 0) return TOO_LARGE;
  if (copy === NOT_PLAIN) return NOT_PLAIN;
  return copying.isWide ? writeCopy(copy) : JSON.stringify(copy);
}

function copyValue(value: unknown, depth: number, copying: Copying): unknown {
  switch (typeof value) {
    case "string":
      copying.leftBytes -= value.length + 2;
      return value.length < LONG_TEXT || copying.leftBytes < 0 ? value : inOnePiece(value);
    case "boolean":
      copying.leftBytes -= 4;
      return value;
    case "number":
      copying.leftBytes--;
      return Number.isFinite(value) ? value : NOT_PLAIN;
    case "object":
      if (value === null) {
        copying.leftBytes -= 4;
        return null;
      }
      // Deeper values, and those that contain themselves, are written as they are.
      if (depth === NESTING_MAX) return NOT_PLAIN;
      copying.leftBytes--;
      return Array.isArray(value) ? copyList(value, depth + 1, copying) : copyObject(value, depth + 1, copying);
    case "bigint":
      return isWritable(value) ? copyDigits(String(value), copying) : NOT_PLAIN;
    default:
      return NOT_PLAIN;
  }
}

/** An integer that JSON has as a number, although no JavaScript number can. */
function copyDigits(digits: string, copying: Copying): unknown {
  copying.leftBytes -= digits.length;
  return digits.length > DIGITS_MAX ? NOT_PLAIN : rawDigits(digits);
}

/**
 * The same text in one piece of memory: V8 writes that as JSON several times as fast as one that was put together from
 * others or cut out of one.
 */
function inOnePiece(text: string): string {
  return [text.slice(0, 1), text.slice(1)].join("");
}

function copyObject(value: object, depth: number, copying: Copying): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype) {
    if (prototype !== null) return NOT_PLAIN;
    const digits = digitsOf(value);
    if (digits !== null) return copyDigits(digits, copying);
  }
  const names = Object.keys(value);
  if (names.length === 0) return EMPTY_OBJECT;
  if (names.length > NARROW_MAX) return copyWide(value, names, depth, copying);
  const copy: Record<string, unknown> = {};
  for (const name of names) {
    const own = (value as Readonly<Record<string, unknown>>)[name];
    if (own === undefined) continue;
    const copied = copyMember(name, own, depth, copying);
    if (copied === NOT_PLAIN) return NOT_PLAIN;
    if (name === "__proto__") define(copy, name, copied);
    else copy[name] = copied;
  }
  return copy;
}

function copyWide(value: object, names: readonly string[], depth: number, copying: Copying): unknown {
  copying.isWide = true;
  const values: unknown[] = [];
  for (const name of names) {
    const own = (value as Readonly<Record<string, unknown>>)[name];
    const copied = own === undefined ? undefined : copyMember(name, own, depth, copying);
    if (copied === NOT_PLAIN) return NOT_PLAIN;
    values.push(copied);
  }
  return new WideObject(names, values);
}

function copyMember(name: string, own: unknown, depth: number, copying: Copying): unknown {
  // Quotes, a colon, and a comma or the closing brace.
  copying.leftBytes -= name.length + 4;
  // A function is not plain, also under the name `toJSON`.
  const copied = copyValue(own, depth, copying);
  return copying.leftBytes < 0 ? NOT_PLAIN : copied;
}

/** Adds a member that an assignment would not add as a member. */
function define(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

function copyList(value: readonly unknown[], depth: number, copying: Copying): unknown {
  if (Object.getPrototypeOf(value) !== Array.prototype) return NOT_PLAIN;
  const { length } = value;
  if (length === 0) return EMPTY_LIST;
  const copy: unknown[] = [];
  for (let at = 0; at < length; at++) {
    copying.leftBytes--;
    const copied = copyValue(value[at], depth, copying);
    if (copied === NOT_PLAIN || copying.leftBytes < 0) return NOT_PLAIN;
    copy.push(copied);
  }
  return copy;
}

/** JSON of a copy with wide objects. */
function writeCopy(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeCopy).join(",")}]`;
  if (value instanceof WideObject) return writeMembers(value.names, value.values);
  if (typeof value !== "object" || value === null || digitsOf(value) !== null) return JSON.stringify(value);
  return writeMembers(Object.keys(value), Object.values(value));
}

function writeMembers(names: readonly string[], values: readonly unknown[]): string {
  const members: string[] = [];
  for (let at = 0; at < values.length; at++) {
    const value = values[at];
    if (value === undefined) continue;
    members.push(`${JSON.stringify(names[at])}:${typeof value === "number" ? value : writeCopy(value)}`);
  }
  return `{${members.join(",")}}`;
}
