import { isUtf8 } from "node:buffer";

/** A piece of a body as it crosses to the tool: text where it is some, else base64. */
export type Part = { readonly text: string } | { readonly base64: string };

export function readPart(part: Part): string | Buffer {
  return "text" in part ? part.text : Buffer.from(part.base64, "base64");
}

export function partOf(bytes: Buffer): Part {
  // Zeros are UTF-8 as well, but as JSON each takes six characters.
  return isUtf8(bytes) && !bytes.includes(0) ? { text: bytes.toString() } : { base64: bytes.toString("base64") };
}

/** How many bytes at the end begin a character of UTF-8 whose rest is missing. */
export function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? back : 0;
    }
    if (byte < 0x80) return 0;
  }
  return 0;
}
