/** Concatenates the chunks into a new array. */
export function joinBytes(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** Hexadecimal digits of the bytes, two for each. */
export function hexOf(bytes: Uint8Array, between = ""): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(between);
}

/** Maximum number of characters made at once: `String.fromCharCode` takes them as arguments, thus on the stack. */
const CHUNK = 8192;

/** The string of the given bytes or UTF-16 code units. */
export function stringFromUnits(units: Uint8Array | Uint16Array): string {
  if (units.length <= CHUNK) return Reflect.apply(String.fromCharCode, undefined, units);
  let text = "";
  for (let start = 0; start < units.length; start += CHUNK) {
    text += Reflect.apply(String.fromCharCode, undefined, units.subarray(start, start + CHUNK));
  }
  return text;
}

/** One byte for each character of the string; `undefined` if a character does not fit a byte. */
export function bytesFromString(text: string): Uint8Array<ArrayBuffer> | undefined {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit > 0xff) return undefined;
    bytes[index] = unit;
  }
  return bytes;
}
