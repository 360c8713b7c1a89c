import { isLongInteger } from "../base/exact-json.ts";
import { isFace } from "./faces/face.ts";
import { odd } from "./odd-objects.ts";
import { encodeBase64 } from "./web/base64-bytes.ts";
import { bytesOf } from "./web/buffer-source.ts";

/**
 * Conversion of a tool's value to JSON, for values that `JSON.stringify` would silently lose. The table for people,
 * with the same rows for Python, is `docs/reference/values.md`.
 */

// Captured before a tool can change them.
const { stringify } = JSON;
const { isRawJSON } = JSON as typeof JSON & { isRawJSON(value: unknown): boolean };
const { abs } = Math;
const { apply, get } = Reflect;
const { defineProperty, entries, getPrototypeOf, keys } = Object;
const { toString } = Object.prototype;
const OBJECT = Object.prototype;
const LIST = Array.prototype;
const { isArray } = Array;
const { isFinite: isFiniteNumber } = Number;
const { forEach: eachOfMap, get: valueIn } = Map.prototype;
const { forEach: eachOfSet, has: isMember } = Set.prototype;
const RealError = Error;
const RealMap = Map;
const RealSet = Set;

/** Values that are refused, by the tags of their classes: their description, and the value to return instead. */
const REFUSED = new RealMap<string, string>(
  entries({
    Promise: "a promise: await it",
    Generator: "a generator: return [...values]",
    AsyncGenerator: "an asynchronous generator: return await Array.fromAsync(values)",
    Response: "a Response: return await response.json(), or await response.text()",
    Request: "a Request: return its url, its method, or await request.text()",
    Blob: "a Blob: return await blob.bytes(), or await blob.text()",
    File: "a File: return await file.bytes(), or await file.text()",
    FormData: "a FormData: return Object.fromEntries(form)",
    ReadableStream: "a stream: return await new Response(stream).text()",
    WritableStream: "a stream, which has no value",
    TransformStream: "a stream, which has no value",
    RegExp: "a regular expression: return String(expression)",
    WeakMap: "a WeakMap, whose members nobody can list: return a Map",
    WeakSet: "a WeakSet, whose members nobody can list: return a Set",
  }),
);
/** Views whose elements are numbers rather than bytes, by their tags. */
const NUMBERS = new RealSet(
  (
    "Int8Array Int16Array Uint16Array Int32Array Uint32Array Float16Array Float32Array Float64Array " +
    "BigInt64Array BigUint64Array"
  ).split(" "),
);
const ITERATOR = "an iterator: return [...values]";
const FACE = "an object of the host, which cannot leave its call: return what its methods answer";

/** A value that JSON cannot hold. The message has its place, its type, and the value to return instead. */
export class ValueError extends TypeError {
  override readonly name = "ValueError";
}

/**
 * Makes `JSON.rawJSON` refuse a number that is out of range at once: a note of it would remain for the next call.
 */
export function limitRawNumbers(realm: typeof globalThis): void {
  const { rawJSON: RealRawJSON } = realm.JSON as typeof JSON & { rawJSON(text: unknown): { readonly rawJSON: string } };
  const { rawJSON } = {
    rawJSON(text: unknown): object {
      const raw = RealRawJSON(text);
      // Of a text that is no number, it is `NaN`.
      if (abs(+raw.rawJSON) === Infinity && !isLongInteger(raw.rawJSON))
        throw new RangeError("JSON.rawJSON takes no number that is beyond 1.8e308: write it as a text");
      return raw;
    },
  };
  defineProperty(realm.JSON, "rawJSON", { value: rawJSON, writable: true, configurable: true });
}

/**
 * A value as JSON, by the realm's `JSON.stringify`: in an open realm, that may be the tool's own. V8's own replaces one
 * that the tool deleted or broke, so that its call ends all the same.
 */
export function write(value: unknown): string | undefined {
  try {
    const writer = JSON.stringify;
    if (writer !== stringify) return writer(value);
  } catch {
    // It was deleted, or throws.
  }
  return stringify(value);
}

/**
 * JSON of a value, from `write`. `undefined` for a value without JSON. Lost values are searched for only if the text
 * has a sign of a loss. Throws a `ValueError`, and the errors of `write`.
 */
export function writeValue(value: unknown): string | undefined {
  // A text that a tool wrote itself has no information about this value.
  odd.isMet = false;
  let text: string | undefined;
  try {
    text = write(value);
  } catch (error) {
    // The error's own message describes the value: the conversion throws one with its place.
    new Conversion().convert(value, null);
    throw error;
  }
  return typeof text !== "string" || (!odd.isMet && !mayHaveLost(text)) || isPlain(value)
    ? text
    : stringify(new Conversion().convert(value, null));
}

/** `true` also if a tool has removed the functions for the search, as it may in an open realm. */
function mayHaveLost(text: string): boolean {
  try {
    return hasSign(text);
  } catch {
    return true;
  }
}

/** Longest text that is searched here: a call of a built-in function takes as long as a hundred characters. */
const SHORT = 256;
const [F, L, N, U] = [102, 108, 110, 117];

/** Beginning of the `toJSON` of Node's buffers, also those of libraries. */
const BUFFER = '{"type":"Buffer"';
const LAST_F = BUFFER.lastIndexOf("f");

/** Whether a text has `null`, by which `JSON.stringify` writes values that it cannot hold, or a buffer. */
function hasSign(text: string): boolean {
  // The time of a search depends on how frequent its first character is, and one for more than six takes four times as
  // long.
  if (text.length > SHORT) return hasNull(text) || (text.includes("Buffer") && text.includes(BUFFER));
  // One of the two equal letters that each of them has is at an odd index.
  for (let at = 1; at < text.length; at += 2) {
    const code = text.charCodeAt(at);
    if ((code === L || code === F) && isSign(text, text.charCodeAt(at + 1) === code ? at + 1 : at)) return true;
  }
  return false;
}

/** Whether the second of the two equal letters of `null` or a buffer is at an index. */
function isSign(text: string, end: number): boolean {
  if (text.charCodeAt(end) === F) return text.charCodeAt(end - 1) === F && text.startsWith(BUFFER, end - LAST_F);
  return text.charCodeAt(end - 1) === L && text.charCodeAt(end - 2) === U && text.charCodeAt(end - 3) === N;
}

/** Whether a text has `null`. */
function hasNull(text: string): boolean {
  for (let at = text.indexOf("ull", 1); at > 0; at = text.indexOf("ull", at + 1))
    if (text.charCodeAt(at - 1) === N) return true;
  return false;
}

/** Whether JSON represents a value completely: the signs are in its texts. */
function isPlain(value: unknown): boolean {
  if (typeof value === "number") return isFiniteNumber(value);
  if (typeof value !== "object" || value === null) return typeof value !== "function" && typeof value !== "symbol";
  if (isArray(value)) {
    if (getPrototypeOf(value) !== LIST) return false;
    for (let at = 0; at < value.length; at++) if (!isPlain(value[at])) return false;
    return true;
  }
  if (getPrototypeOf(value) !== OBJECT) return false;
  const members = value as Readonly<Record<string, unknown>>;
  for (const name in members) if (!isPlain(members[name])) return false;
  return typeof members["toJSON"] !== "function";
}

/** Place of a value within another. */
interface Place {
  readonly above: Place | null;
  readonly key: string | number;
}

/** Converts one value to a form that JSON can hold. */
class Conversion {
  readonly #above = new RealSet<object>();

  convert(value: unknown, place: Place | null): unknown {
    switch (typeof value) {
      case "number":
        if (isFiniteNumber(value)) return value;
        throw refusal(place, `${value}, which JSON does not have: return a number, a text or null`);
      case "object":
        return value === null ? null : this.#convertObject(value, place);
      default:
        return value;
    }
  }

  #convertObject(value: object, place: Place | null): unknown {
    if (this.#above.has(value)) throw refusal(place, "in itself: return it without its own members");
    this.#above.add(value);
    const converted = this.#valueOf(value, place);
    this.#above.delete(value);
    return converted;
  }

  #valueOf(value: object, place: Place | null): unknown {
    if (isRawJSON(value)) return value;
    const toJSON: unknown = get(value, "toJSON");
    if (typeof toJSON === "function") {
      const key = place === null ? "" : `${place.key}`;
      const written: unknown = apply(toJSON, value, [key]);
      if (written === null && tagOf(value) === "Date")
        throw refusal(place, "an invalid date: return a valid one, or null");
      if (typeof written !== "object" || written === null) return this.convert(written, place);
      // A buffer is bytes like all others; if the tool has its own `toJSON`, its result is used.
      const bytes = get(written, "type") === "Buffer" ? bytesOf(value) : undefined;
      return bytes === undefined ? this.#membersOf(written, place) : { base64: encodeBase64(bytes) };
    }
    if (isArray(value)) return this.#itemsOf(value, place);
    if (value instanceof RealError) return { name: textIn(value, "name"), message: textIn(value, "message") };
    if (value instanceof RealMap) return this.#objectOf(value, place);
    if (value instanceof RealSet) return this.#itemsOf(itemsIn(value), place);
    const bytes = bytesOf(value);
    if (bytes !== undefined) {
      const isNumbers = apply(isMember, NUMBERS, [tagOf(value)]) as boolean;
      return isNumbers ? this.#itemsOf(value as unknown as readonly unknown[], place) : { base64: encodeBase64(bytes) };
    }
    if (isFace(value)) throw refusal(place, FACE);
    return this.#ofClass(value, place);
  }

  #ofClass(value: object, place: Place | null): unknown {
    const tag = tagOf(value);
    const refused = apply(valueIn, REFUSED, [tag]) as string | undefined;
    if (refused !== undefined) throw refusal(place, refused);
    switch (tag) {
      case "Object":
        return this.#membersOf(value, place);
      case "URLSearchParams":
        return `${value as unknown as string}`;
      case "Headers":
        return this.#objectOf(value as ReadonlyMap<unknown, unknown>, place);
      case "Number":
      case "String":
      case "Boolean":
      case "BigInt":
        return value;
      default:
        if (tag.endsWith("Iterator") || tag === "Iterator Helper") throw refusal(place, ITERATOR);
        return this.#membersOf(value, place);
    }
  }

  #itemsOf(list: readonly unknown[], place: Place | null): unknown[] {
    const made: unknown[] = [];
    for (let at = 0; at < list.length; at++) {
      const item = list[at];
      const here = { above: place, key: at };
      if (typeof item === "function" || typeof item === "symbol")
        throw refusal(here, `a ${typeof item}, which is no value of JSON: leave it out`);
      made[at] = this.convert(item, here);
    }
    return made;
  }

  #membersOf(object: object, place: Place | null): object {
    if (isArray(object)) return this.#itemsOf(object, place);
    const made = {};
    const names = keys(object);
    for (let at = 0; at < names.length; at++) {
      const name = names[at] ?? "";
      add(made, name, this.convert(get(object, name), { above: place, key: name }));
    }
    return made;
  }

  /** A map as an object. */
  #objectOf(map: ReadonlyMap<unknown, unknown>, place: Place | null): object {
    const made = {};
    const one = (value: unknown, key: unknown): void => {
      if (typeof key !== "string")
        throw refusal(place, "a Map with keys that are no texts: return [...map], or texts as keys");
      add(made, key, this.convert(value, { above: place, key }));
    };
    if (map instanceof RealMap) apply(eachOfMap, map, [one]);
    else map.forEach(one);
    return made;
  }
}

function itemsIn(set: ReadonlySet<unknown>): unknown[] {
  const items: unknown[] = [];
  apply(eachOfSet, set, [(item: unknown) => void (items[items.length] = item)]);
  return items;
}

/** Adds a member, also `__proto__`, for which an assignment would set the prototype. */
function add(object: object, name: string, value: unknown): void {
  defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

function tagOf(value: object): string {
  return (apply(toString, value, []) as string).slice(8, -1);
}

function textIn(error: object, name: string): string {
  const text: unknown = get(error, name);
  return typeof text === "string" ? text : "";
}

function refusal(place: Place | null, problem: string): ValueError {
  let pointer = "";
  for (let at = place; at !== null; at = at.above) {
    pointer = `/${`${at.key}`.replaceAll("~", "~0").replaceAll("/", "~1")}${pointer}`;
  }
  return new ValueError(`${pointer === "" ? "it" : pointer} is ${problem}`);
}
