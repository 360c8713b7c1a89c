import type { ReadableByteStreamController, ReadableStream } from "web-streams-polyfill";
import { joinBytes } from "./bytes.ts";
import { realmParts } from "./realm-parts.ts";
import { Utf8Decoder, encodeUtf8 } from "./utf8.ts";

/** A piece of a body: text where the bytes are known to be that text in UTF-8. */
export type Chunk = string | Uint8Array;

/** Where bytes come from, piece by piece. Who reads asks for the next one when it has got the last. */
export interface ChunkSource {
  next(): Promise<Chunk | undefined>;
  /** Nobody wants the rest. */
  cancel(): void;
}

const NONE = new Uint8Array();

/** The bytes of a piece. */
export function bytesOfChunk(chunk: Chunk): Uint8Array {
  return typeof chunk === "string" ? encodeUtf8(chunk) : chunk;
}

/** A stream of bytes that asks its source for more whenever somebody reads. */
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
        // What a reader does with its piece must not change anybody else's.
        controller.enqueue(bytesOfChunk(chunk).slice());
      }
    },
    cancel: () => source.cancel(),
  });
}

/** The pieces of a stream, which is locked from now on. */
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

/** The whole text; a byte order mark at its start is not part of it. */
export async function readText(source: ChunkSource): Promise<string> {
  const decoder = new Utf8Decoder(false);
  let text = "";
  for (let chunk = await source.next(); chunk !== undefined; chunk = await source.next()) {
    text += typeof chunk === "string" ? decoder.decode(NONE, true) + chunk : decoder.decode(chunk, false);
  }
  text += decoder.decode(NONE, true);
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** All the bytes; throws where they are more than `maxBytes`. */
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
