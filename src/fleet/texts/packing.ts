import { hash } from "node:crypto";
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { isObject } from "../../kernel/base/json.ts";
import { isCount, isKey } from "../wire/fields.ts";
import { TextFailure } from "./text-store.ts";

/** A reference to a text: enough to find it, to limit its read size, and to verify it. */
export interface TextRef {
  /** The SHA-256 of the text in UTF-8, in hexadecimal digits. */
  readonly hash: string;
  /** Length of the text in UTF-8. */
  readonly bytes: number;
  readonly place: "redis" | "store";
}

/** Seals a text for one place, and opens it only there. `open` throws if that fails. */
export interface TextSeal {
  close(text: string, about: string): string;
  open(sealed: string, about: string): string;
}

/** Maximum size of a text, in bytes: twice that is still a valid string in V8. */
const TEXT_BYTES_MAX = 256 * 1024 * 1024;

/** zstd at its default level compresses JavaScript and Base64 as well as deflate does, in a quarter of the time. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };
/** Maximum growth of a stored text: incompressible, twice in Base64. */
const GROWTH = 2;
const FRAME_BYTES = 4_096;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/**
 * The digest and size of a text. Rejects text that UTF-8 cannot represent, because it would be restored with changes.
 */
export function identify(text: string): Pick<TextRef, "hash" | "bytes"> {
  if (!text.isWellFormed()) throw new TextFailure("damaged", "the tool's code contains an unpaired surrogate");
  const bytes = Buffer.byteLength(text);
  if (bytes > TEXT_BYTES_MAX)
    throw new TextFailure("too_large", `the tool's code is ${bytes} bytes; the limit is ${TEXT_BYTES_MAX}`);
  return { hash: hash("sha256", text), bytes };
}

/** The stored form of a text: compressed, then sealed for this key. */
export async function pack(text: string, seal: TextSeal, key: string): Promise<string> {
  const compressed = await compress(text, COMPRESSION);
  return seal.close(compressed.toString("base64"), key);
}

/** Maximum stored size of a text of this many bytes. */
export function storedBytesMax({ bytes }: TextRef): number {
  return bytes * GROWTH + FRAME_BYTES;
}

/** Whether a value is a valid reference: it comes from Redis, and names of files and keys are made of it. */
export function isTextRef(ref: unknown): ref is TextRef {
  if (!isObject(ref)) return false;
  const { hash: name, bytes, place } = ref;
  return (place === "redis" || place === "store") && isKey(name) && isCount(bytes) && bytes <= TEXT_BYTES_MAX;
}

/** Restores the text that a reference names. Rejects with `damaged` if the stored text is another one. */
export async function unpack(stored: string, seal: TextSeal, key: string, ref: TextRef): Promise<string> {
  const bytes = await decode(stored, seal, key, ref).catch(() => null);
  if (bytes === null)
    throw new TextFailure("damaged", "the tool's code cannot be read: it is damaged, or sealed with another secret");
  if (hash("sha256", bytes) !== ref.hash)
    throw new TextFailure("damaged", "the stored code is not the tool's: its hash differs");
  return bytes.toString();
}

async function decode(stored: string, seal: TextSeal, key: string, ref: TextRef): Promise<Buffer> {
  const compressed = Buffer.from(seal.open(stored, key), "base64");
  // The bound stops decompression bombs.
  return decompress(compressed, { maxOutputLength: Math.max(1, ref.bytes) });
}
