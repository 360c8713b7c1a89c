import { bytesFromString, stringFromUnits } from "./bytes.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PAD = 0x3d;

/** Encodes bytes as Base64. */
export function encodeBase64(bytes: Uint8Array): string {
  // V8's own method, from Node 25 on, is many times as fast.
  return typeof bytes.toBase64 === "function" ? bytes.toBase64() : encodeByHand(bytes);
}

function encodeByHand(bytes: Uint8Array): string {
  const codes = bytesFromString(ALPHABET) ?? new Uint8Array();
  const output = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  let at = 0;
  for (let index = 0; index < bytes.length; index += 3) {
    const left = bytes.length - index;
    const group = ((bytes[index] ?? 0) << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0);
    output[at] = codes[group >> 18] ?? PAD;
    output[at + 1] = codes[(group >> 12) & 63] ?? PAD;
    output[at + 2] = left > 1 ? (codes[(group >> 6) & 63] ?? PAD) : PAD;
    output[at + 3] = left > 2 ? (codes[group & 63] ?? PAD) : PAD;
    at += 4;
  }
  return stringFromUnits(output);
}

/** Decodes Base64 by the web's forgiving rules (padding optional, spaces ignored); `undefined` if it is invalid. */
export function decodeForgivingly(base64: string): Uint8Array | undefined {
  let text = base64.replace(/[\t\n\f\r ]+/g, "");
  if (text.length % 4 === 0) text = text.replace(/={1,2}$/, "");
  if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) return undefined;
  return decodeBase64(text);
}

/** Decodes Base64 of valid characters; padding is optional. */
export function decodeBase64(base64: string): Uint8Array {
  return typeof Uint8Array.fromBase64 === "function" ? Uint8Array.fromBase64(base64) : decodeByHand(base64);
}

function decodeByHand(base64: string): Uint8Array {
  const text = base64.replace(/=+$/, "");
  const values = new Uint8Array(128);
  for (let index = 0; index < ALPHABET.length; index += 1) values[ALPHABET.charCodeAt(index)] = index;
  const output = new Uint8Array(Math.floor((text.length * 3) / 4));
  let at = 0;
  for (let index = 0; index < text.length; index += 4) {
    let group = 0;
    for (let offset = 0; offset < 4; offset += 1) {
      // Past the end, `charCodeAt` returns NaN, which the table does not have.
      group = (group << 6) | (values[text.charCodeAt(index + offset)] ?? 0);
    }
    // Bytes past the output's end come from missing characters; the array ignores them.
    output[at] = group >> 16;
    output[at + 1] = group >> 8;
    output[at + 2] = group;
    at += 3;
  }
  return output;
}
