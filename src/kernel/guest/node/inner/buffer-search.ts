import { encode, encodingNamed } from "./encodings.ts";
import { invalidArgType, nodeError } from "./errors.ts";

/** Searches of `Buffer`. */

export function search(
  bytes: Uint8Array,
  wanted: unknown,
  start: unknown,
  encoding: unknown,
  isForward: boolean,
): number {
  let from: unknown = start;
  let named: unknown = encoding;
  if (typeof from === "string") {
    named = from;
    from = undefined;
  }
  // A number in place of the encoding is the end of the search.
  if (typeof named === "number")
    return search(bytes.subarray(0, Math.max(0, named)), wanted, from, undefined, isForward);
  let at = Math.trunc(Number(from));
  if (Number.isNaN(at)) at = isForward ? 0 : bytes.length;
  if (at < 0) at += bytes.length;
  if (at < 0) {
    if (!isForward) return -1;
    at = 0;
  }
  if (typeof wanted === "number") {
    const byte = wanted & 255;
    return isForward ? Reflect.apply(INDEX_OF, bytes, [byte, at]) : Reflect.apply(LAST_INDEX_OF, bytes, [byte, at]);
  }
  if (typeof wanted !== "string" && !(wanted instanceof Uint8Array)) {
    throw invalidArgType("value", ["number", "string", "Buffer", "Uint8Array"], wanted);
  }
  const encoded = named === undefined || named === null ? "utf8" : encodingNamed(String(named as string));
  if (encoded === undefined && typeof wanted === "string")
    throw nodeError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${String(named as string)}`);
  const needle = typeof wanted === "string" ? encode(wanted, encoded ?? "utf8") : wanted;
  const step = encoded === "utf16le" ? 2 : 1;
  if (step === 2 && needle.length === 1) return -1;
  return searchBytes(bytes, needle, at, isForward, step);
}

const { indexOf: INDEX_OF, lastIndexOf: LAST_INDEX_OF } = Uint8Array.prototype;

function searchBytes(bytes: Uint8Array, needle: Uint8Array, start: number, isForward: boolean, step: number): number {
  const last = bytes.length - needle.length;
  if (needle.length === 0) return Math.min(start, bytes.length);
  if (last < 0) return -1;
  const isAt = (at: number): boolean => {
    if ((at - start) % step !== 0 && at % step !== 0) return false;
    for (let index = 0; index < needle.length; index++) if (bytes[at + index] !== needle[index]) return false;
    return true;
  };
  if (isForward) {
    for (let at = start; at <= last; at++) if (isAt(at)) return at;
  } else {
    for (let at = Math.min(start, last); at >= 0; at--) if (isAt(at)) return at;
  }
  return -1;
}
