import { isUtf8 } from "node:buffer";
import type { BinaryBody, RemoteAnswer, RemoteRequest } from "../../kernel/guest/host.ts";

/** Media types of answers that are bytes: as a text, they would be noise. */
const BINARY =
  /^\s*(?:image\/(?!svg)|audio\/|video\/|font\/|application\/(?:octet-stream|pdf|zip|gzip|x-tar|x-7z-compressed|wasm|msword|vnd\.(?:ms-|openxmlformats))\b)/i;
const TEXT =
  /^\s*(?:text\/|[\w.-]+\/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|javascript|x-www-form-urlencoded|x-ndjson|jsonl)\b)/i;
const CHARSET = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i;

/**
 * The body of an answer: text, by its charset and without a byte-order mark; bytes if its media type is binary, or if
 * it neither has the media type of a text nor is UTF-8.
 */
export function answerBody(bytes: Buffer, contentType: string): RemoteAnswer["body"] {
  if (BINARY.test(contentType)) return { base64: bytes.toString("base64") };
  if (bytes.length === 0) return "";
  const [, named = ""] = CHARSET.exec(contentType) ?? [];
  const charset = decoderOf(named) ?? decoderOf(markedCharset(bytes));
  if (charset !== null) return charset.decode(bytes);
  if (!TEXT.test(contentType) && (!isUtf8(bytes) || bytes.includes(0))) return { base64: bytes.toString("base64") };
  return new TextDecoder().decode(bytes);
}

/** `null` for UTF-8, and for a charset without a decoder. */
function decoderOf(label: string): TextDecoder | null {
  if (label === "" || /^utf-?8$/i.test(label)) return null;
  try {
    return new TextDecoder(label);
  } catch {
    return null;
  }
}

function markedCharset(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  return bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "";
}

export function sentBody(body: RemoteRequest["body"]): string | Buffer | null {
  return isBinary(body) ? Buffer.from(body.base64, "base64") : body;
}

function isBinary(body: RemoteRequest["body"]): body is BinaryBody {
  return typeof body === "object" && body !== null;
}
