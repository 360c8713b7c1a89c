import { hash } from "node:crypto";

/**
 * The kinds of failure to fetch or publish a tool's code.
 *
 * - `missing`: the text does not exist. Redis may have lost it; its server can publish it again.
 * - `damaged`: the stored text is not the one that the reference names, or is sealed with another secret. Its server
 * can overwrite it.
 * - `too_large`: a server's text exceeds the limits of all places.
 * - `unreachable`: the place does not answer, or refuses.
 */
export type TextFailureKind = "missing" | "damaged" | "too_large" | "unreachable";

/** The message contains no hosts, paths or secrets; for the same reason there is no `cause`. */
export class TextFailure extends Error {
  override readonly name = "TextFailure";
  readonly kind: TextFailureKind;

  constructor(kind: TextFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** A place that servers and machines both reach. Readers verify its contents: it is not trusted. */
export interface TextStore {
  /** Whether the key exists; if so, extends its lifetime. */
  keep(key: string): Promise<boolean>;
  /** Stores a text, and replaces an existing one. */
  put(key: string, stored: string): Promise<void>;
  /** The stored text; `null` if it does not exist. Rejects with `damaged` if it is larger than `bytesMax`. */
  get(key: string, bytesMax: number): Promise<string | null>;
}

/**
 * The file or object name of a text: the digest of its key, so that fleets which share a store but no secret do not
 * overwrite each other's texts, and the name reveals nothing about the tool.
 */
export function fileNameOf(key: string): string {
  return `${hash("sha256", key)}.text`;
}

/** Reads a stream to its end. Throws if it has more than `bytesMax` bytes. */
export async function collect(chunks: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw oversized();
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString();
}

export function oversized(): TextFailure {
  return new TextFailure("damaged", "the stored code is larger than the tool's code can be");
}
