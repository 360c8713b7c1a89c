import type { ReadableByteStreamController, ReadableStream } from "web-streams-polyfill";
import { joinBytes } from "./bytes.ts";
import { realmParts } from "./realm-parts.ts";
import { Utf8Decoder, encodeUtf8 } from "./utf8.ts";

/** A chunk of a body: text if its bytes are known to be that text in UTF-8. */
export type Chunk = string | Uint8Array;

/** A source of chunks. The reader requests the next chunk after it has received the last. */
export interface ChunkSource {
  /** All results of `next`, if they are in memory. */
  readonly whole?: Chunk;
  next(): Promise<Chunk | undefined>;
  /** Discards the rest. */
  cancel(): void;
}

const NONE = new Uint8Array();

/** The bytes of a chunk. */
export function bytesOfChunk(chunk: Chunk): Uint8Array {
  return typeof chunk === "string" ? encodeUtf8(chunk) : chunk;
}

/** A stream of bytes that pulls from its source on every read. */
export function openByteStream(source: ChunkSource): ReadableStream<Uint8Array> {
  const { ReadableStream } = realmParts().streams();
  return new ReadableStream({
    type: "bytes",
    async pull(controller: ReadableByteStreamController) {
      let chunk = await source.next();
      while (chunk !== undefined && chunk.length === 0) chunk = await source.next();
      if (chunk === undefined) {
        controller.close();
        controller.byobRequest?.respond(0);
      } else {
        // A copy: the reader may change its chunk, and the source's bytes may be shared.
        controller.enqueue(bytesOfChunk(chunk).slice());
      }
    },
    cancel: () => source.cancel(),
  });
}

/** The chunks of a stream, which is locked from now on. */
export function chunksOfStream(stream: ReadableStream): ChunkSource {
  const reader = stream.getReader();
  return {
    async next() {
      const { done, value } = (await reader.read()) as { done: boolean; value: unknown };
      if (done) return undefined;
      if (value instanceof Uint8Array) return value;
      throw new TypeError("The pieces of a body have to be Uint8Arrays");
    },
    cancel: () => void reader.cancel().catch(() => undefined),
  };
}

/** The whole text, without a byte order mark at its start. */
export async function readText(source: ChunkSource): Promise<string> {
  const text = await readRawText(source);
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** The whole text. */
export async function readRawText(source: ChunkSource): Promise<string> {
  if (typeof source.whole === "string") return source.whole;
  const decoder = new Utf8Decoder(false);
  let text = "";
  for (let chunk = await source.next(); chunk !== undefined; chunk = await source.next()) {
    text += typeof chunk === "string" ? decoder.decode(NONE, true) + chunk : decoder.decode(chunk, false);
  }
  return text + decoder.decode(NONE, true);
}

/** All bytes. Throws if they are more than `maxBytes`. */
export async function readBytes(source: ChunkSource, maxBytes = Number.POSITIVE_INFINITY): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let chunk = await source.next(); chunk !== undefined; chunk = await source.next()) {
    const bytes = bytesOfChunk(chunk);
    size += bytes.length;
    if (size > maxBytes) {
      source.cancel();
      throw new TypeError(`The body has more than ${maxBytes} bytes`);
    }
    chunks.push(bytes);
  }
  return joinBytes(chunks);
}
