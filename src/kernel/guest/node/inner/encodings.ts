import { decodeBase64, encodeBase64 } from "../../web/base64-bytes.ts";
import { stringFromUnits } from "../../web/bytes.ts";
import { encodeUtf8, Utf8Decoder, writeUtf8 } from "../../web/utf8.ts";

/** The encodings of `Buffer`. */
export type Encoding = "utf8" | "utf16le" | "latin1" | "ascii" | "base64" | "base64url" | "hex";

const NAMES: ReadonlyMap<string, Encoding> = new Map([
  ["utf8", "utf8"],
  ["utf-8", "utf8"],
  ["utf16le", "utf16le"],
  ["utf-16le", "utf16le"],
  ["ucs2", "utf16le"],
  ["ucs-2", "utf16le"],
  ["latin1", "latin1"],
  ["binary", "latin1"],
  ["ascii", "ascii"],
  ["base64", "base64"],
  ["base64url", "base64url"],
  ["hex", "hex"],
]);

/** The encoding of a name, in any case; `undefined` if no encoding has that name. */
export function encodingNamed(name: string): Encoding | undefined {
  return NAMES.get(name) ?? NAMES.get(name.toLowerCase());
}

export function byteLengthOf(text: string, encoding: Encoding): number {
  switch (encoding) {
    case "utf8":
      return utf8Length(text);
    case "utf16le":
      return text.length * 2;
    case "latin1":
    case "ascii":
      return text.length;
    case "hex":
      return text.length >>> 1;
    case "base64":
    case "base64url":
      return (withoutPadding(text) * 3) >>> 2;
    default:
      return encoding satisfies never;
  }
}

function utf8Length(text: string): number {
  let length = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    length += unit < 0x800 ? 1 : 2;
    if (unit < 0xd800 || unit > 0xdbff) continue;
    const next = text.charCodeAt(at + 1);
    // A pair of surrogates has four bytes, two for each unit.
    if (next >= 0xdc00 && next <= 0xdfff) at++;
  }
  return length;
}

function withoutPadding(text: string): number {
  const { length } = text;
  if (length > 1 && text.endsWith("==")) return length - 2;
  return text.endsWith("=") ? length - 1 : length;
}

export function encode(text: string, encoding: Encoding): Uint8Array<ArrayBuffer> {
  switch (encoding) {
    case "utf8":
      return encodeUtf8(text);
    case "utf16le": {
      const bytes = new Uint8Array(text.length * 2);
      writeUnits(text, bytes);
      return bytes;
    }
    case "latin1":
    case "ascii": {
      const bytes = new Uint8Array(text.length);
      for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
      return bytes;
    }
    case "hex":
      return decodeHex(text);
    case "base64":
    case "base64url":
      return decodeLoosely(text);
    default:
      return encoding satisfies never;
  }
}

/** Writes the part of a text that fits; returns the number of bytes. Characters are written whole. */
export function writeText(text: string, bytes: Uint8Array, encoding: Encoding): number {
  if (encoding === "utf8") return writeUtf8(text, bytes).written;
  if (encoding === "utf16le") return writeUnits(text, bytes);
  const all = encode(text, encoding);
  const some = all.length > bytes.length ? all.subarray(0, bytes.length) : all;
  bytes.set(some);
  return some.length;
}

function writeUnits(text: string, bytes: Uint8Array): number {
  const units = Math.min(text.length, bytes.length >>> 1);
  for (let at = 0; at < units; at++) {
    const unit = text.charCodeAt(at);
    bytes[2 * at] = unit & 0xff;
    bytes[2 * at + 1] = unit >>> 8;
  }
  return units * 2;
}

const HEX = "0123456789abcdef";

/** Ends at the first character that is no digit. */
function decodeHex(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length >>> 1);
  for (let at = 0; at < bytes.length; at++) {
    const high = digitOf(text.charCodeAt(2 * at));
    const low = digitOf(text.charCodeAt(2 * at + 1));
    if (high < 0 || low < 0) return bytes.slice(0, at);
    bytes[at] = (high << 4) | low;
  }
  return bytes;
}

function digitOf(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const lower = code | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

/** Both alphabets, without characters outside of both, up to the first padding. */
function decodeLoosely(text: string): Uint8Array<ArrayBuffer> {
  let plain = text;
  if (/[^A-Za-z0-9+/]/.test(plain)) {
    const end = plain.indexOf("=");
    if (end >= 0) plain = plain.slice(0, end);
    plain = plain
      .replaceAll("-", "+")
      .replaceAll("_", "/")
      .replaceAll(/[^A-Za-z0-9+/]+/g, "");
  }
  // A single character more makes no byte.
  if (plain.length % 4 === 1) plain = plain.slice(0, -1);
  return decodeBase64(plain) as Uint8Array<ArrayBuffer>;
}

export function decode(bytes: Uint8Array, encoding: Encoding): string {
  switch (encoding) {
    case "utf8":
      return new Utf8Decoder(false).decode(bytes, true);
    case "utf16le": {
      const units = new Uint16Array(bytes.length >>> 1);
      for (let at = 0; at < units.length; at++) units[at] = (bytes[2 * at] ?? 0) | ((bytes[2 * at + 1] ?? 0) << 8);
      return stringFromUnits(units);
    }
    case "latin1":
      return stringFromUnits(bytes);
    case "ascii":
      return stringFromUnits(bytes.map((byte) => byte & 0x7f));
    case "hex":
      return hex(bytes);
    case "base64":
      return encodeBase64(bytes);
    case "base64url":
      return encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    default:
      return encoding satisfies never;
  }
}

function hex(bytes: Uint8Array): string {
  if (typeof bytes.toHex === "function") return bytes.toHex();
  const units = new Uint8Array(bytes.length * 2);
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    units[2 * at] = HEX.charCodeAt(byte >> 4);
    units[2 * at + 1] = HEX.charCodeAt(byte & 15);
  }
  return stringFromUnits(units);
}
