import { hash } from "node:crypto";

/**
 * Why a tool's code cannot be had, or not be put where machines find it.
 *
 * - `missing`: it is not there. Redis may have lost it; its server can publish it again.
 * - `damaged`: what is there is not what the reference names, or is sealed with another secret. Its server can write over it.
 * - `too_large`: a server wants to publish more than places take.
 * - `unreachable`: the place does not answer, or refuses.
 */
export type TextFailureKind = "missing" | "damaged" | "too_large" | "unreachable";

/** The message names neither hosts nor paths nor what opens them, so there is no `cause` either. */
export class TextFailure extends Error {
  override readonly name = "TextFailure";
  readonly kind: TextFailureKind;

  constructor(kind: TextFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Somewhere that servers and machines both reach. What it gives is believed by nobody before it has been verified. */
export interface TextStore {
  /** Whether it has something under this key, which will then stay for a while longer. */
  keep(key: string): Promise<boolean>;
  /** Puts it there, in the stead of what there may be. */
  put(key: string, stored: string): Promise<void>;
  /** The stored text; `null` where there is nothing. Rejects with `damaged` where it is larger than `bytesMax`. */
  get(key: string, bytesMax: number): Promise<string | null>;
}

/**
 * The file or object name of a text. It is the key's digest, so that fleets which share a store but no secret do not
 * write over each other's texts, and nothing of a tool can be read in it.
 */
export function fileNameOf(key: string): string {
  return `${hash("sha256", key)}.text`;
}

/** All of a stream, where that is not more than it may be. */
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
