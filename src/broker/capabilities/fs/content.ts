import { isUtf8 } from "node:buffer";
import type { FileHandle } from "node:fs/promises";

/** The content of a file as it crosses: as text where it is text, else as Base64. */
export type Content = { readonly text: string } | { readonly base64: string };

/** How much is read between two looks at the call's limits. */
const CHUNK_BYTES = 512 * 1024;
const CHUNK_LEAST_BYTES = 4_096;

/** The content for a tool that wants a text, whatever the bytes are, or the very bytes. */
export function contentOf(bytes: Buffer, wantsText: boolean): Content {
  // JSON writes six characters for a zero byte: Base64 is shorter then.
  if (wantsText || (isUtf8(bytes) && !bytes.includes(0))) return { text: bytes.toString("utf8") };
  return { base64: bytes.toString("base64") };
}

/** How many bytes a content has, without making them. */
export function sizeOf(content: Content): number {
  return "text" in content ? Buffer.byteLength(content.text) : Buffer.byteLength(content.base64, "base64");
}

export function bytesOf(content: Content): Buffer {
  return "text" in content ? Buffer.from(content.text) : Buffer.from(content.base64, "base64");
}

/** What part of a file to read. */
export interface Part {
  readonly position: number;
  /** What is beyond is not read. */
  readonly maxBytes: number;
  /** How many bytes there seem to be: a file may be changed meanwhile, and some files do not know. */
  readonly expectedBytes: number;
}

/** Reads a part of a file, and tells how much was read after each step. */
export async function readPart(
  handle: FileHandle,
  { position, maxBytes, expectedBytes }: Part,
  onRead: (bytes: number) => void,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let read = 0;
  while (read < maxBytes) {
    const guess = Math.min(Math.max(expectedBytes - read + 1, CHUNK_LEAST_BYTES), CHUNK_BYTES, maxBytes - read);
    const chunk = Buffer.alloc(guess);
    const { bytesRead } = await handle.read(chunk, 0, guess, position + read);
    if (bytesRead === 0) break;
    onRead(bytesRead);
    chunks.push(chunk.subarray(0, bytesRead));
    read += bytesRead;
  }
  return Buffer.concat(chunks, read);
}
