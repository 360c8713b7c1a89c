import { decode, encode, encodingNamed, type Encoding } from "./encodings.ts";
import { invalidArgType, invalidArgValue, nodeError } from "./errors.ts";

/** Functions of `node:buffer` that need no buffer of their own. */

export function transcode(source: unknown, fromName: unknown, toName: unknown): Uint8Array {
  const bytes = bytesOf(source, "source");
  const [decoded, encoded] = [fromName, toName].map((name) => encodingNamed(String(name as string)));
  if (decoded === undefined || encoded === undefined || [decoded, encoded].some((one) => /base64|hex/.test(one))) {
    throw Object.assign(new Error("Unable to transcode Buffer [U_ILLEGAL_ARGUMENT_ERROR]"), {
      code: "U_ILLEGAL_ARGUMENT_ERROR",
      errno: 1,
    });
  }
  const text = decode(bytes, decoded);
  const isNarrow = encoded === "latin1" || encoded === "ascii";
  // eslint-disable-next-line no-control-regex
  const fitting = isNarrow ? text.replaceAll(encoded === "ascii" ? /[^\0-\u007f]/gu : /[^\0-\u00ff]/gu, "?") : text;
  return encode(fitting, encoded);
}

export function isUtf8(input: unknown): boolean {
  if (!ArrayBuffer.isView(input) && !(input instanceof ArrayBuffer))
    throw invalidArgType("input", ["ArrayBuffer", "Buffer", "TypedArray"], input);
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(input as Uint8Array);
    return true;
  } catch {
    return false;
  }
}

export function isAscii(input: unknown): boolean {
  if ((ArrayBuffer.isView(input) || input instanceof ArrayBuffer) && input.byteLength === 0) return true;
  const bytes = input instanceof ArrayBuffer ? new Uint8Array(input) : bytesOf(input, "input");
  return bytes.every((byte) => byte < 0x80);
}

export function relative(value: unknown, usual: number, length: number): number {
  if (value === undefined) return usual;
  const number = Math.trunc(Number(value)) || 0;
  return number < 0 ? Math.max(0, number + length) : Math.min(number, length);
}

export function fillRange(bytes: Uint8Array, value: unknown, named: unknown): void {
  if (named !== undefined && typeof named !== "string") throw invalidArgType("encoding", "string", named);
  if (typeof value === "boolean" || typeof value === "number" || value === undefined || value === null) {
    Uint8Array.prototype.fill.call(bytes, Number(value ?? 0) & 255);
    return;
  }
  const encoding = encodingOf(named);
  const pattern = typeof value === "string" ? encode(value, encoding) : value;
  if (!(pattern instanceof Uint8Array)) {
    Uint8Array.prototype.fill.call(bytes, Number(value) & 255);
    return;
  }
  if (pattern.length === 0) {
    if (value === "") Uint8Array.prototype.fill.call(bytes, 0);
    else throw invalidArgValue("value", value);
    return;
  }
  for (let at = 0; at < bytes.length; at += pattern.length) {
    bytes.set(at + pattern.length > bytes.length ? pattern.subarray(0, bytes.length - at) : pattern, at);
  }
}

export function encodingOf(name: unknown): Encoding {
  if (typeof name !== "string" || name === "") return "utf8";
  const encoding = encodingNamed(name);
  if (encoding === undefined) throw nodeError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${name}`);
  return encoding;
}

export function bytesOf(value: unknown, name: string): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw invalidArgType(name, ["Buffer", "Uint8Array"], value);
}

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference < 0 ? -1 : 1;
  }
  return Math.sign(a.length - b.length);
}

export function swap(bytes: Uint8Array, size: number): Uint8Array {
  if (bytes.length % size !== 0) {
    throw nodeError(RangeError, "ERR_INVALID_BUFFER_SIZE", `Buffer size must be a multiple of ${size * 8}-bits`);
  }
  for (let at = 0; at < bytes.length; at += size) bytes.subarray(at, at + size).reverse();
  return bytes;
}
