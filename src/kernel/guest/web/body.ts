import { toText } from "./arguments.ts";
import { hexOf } from "./bytes.ts";
import type { ReadableStream } from "web-streams-polyfill";
import { Blob, blobBytes } from "./blob.ts";
import { piecesOf } from "./body-pieces.ts";
import { bytesOf } from "./buffer-source.ts";
import { type Chunk, type ChunkSource, chunksOfStream, openByteStream } from "./byte-stream.ts";
import { FormData, formEntries } from "./form-data.ts";
import { encodeMultipart } from "./multipart.ts";
import { realmParts } from "./realm-parts.ts";
import { teeWithClones } from "./tee.ts";
import type { URLSearchParams } from "./url-search-params.ts";

/** Values that a body can be made from. */
export type BodyInit = string | Blob | ArrayBuffer | ArrayBufferView | FormData | URLSearchParams | ReadableStream;

type Source =
  | { readonly kind: "whole"; readonly chunk: Chunk }
  | { readonly kind: "chunks"; readonly chunks: ChunkSource }
  | { readonly kind: "stream"; readonly stream: ReadableStream };

/** The body of a request or a response. Its stream is created only on demand. */
export class Body {
  #source: Source;
  #isTaken = false;

  constructor(source: Source) {
    this.#source = source;
  }

  get stream(): ReadableStream {
    const source = this.#source;
    if (source.kind === "stream") return source.stream;
    const stream = openByteStream(this.#isTaken ? chunksOf("") : this.#chunks());
    // The stream of a body that was read counts as read, by a reader that keeps it.
    if (this.#isTaken) void stream.getReader().cancel();
    this.#source = { kind: "stream", stream };
    return stream;
  }

  /** Whether the body has been read from. */
  get isUsed(): boolean {
    const source = this.#source;
    return this.#isTaken || (source.kind === "stream" && isDisturbed(source.stream));
  }

  /** Whether the body can no longer be read. */
  get isUnusable(): boolean {
    return this.isUsed || (this.#source.kind === "stream" && this.#source.stream.locked);
  }

  /** The whole text, which counts as read from now on; `undefined` if the body is not a text in memory. */
  takeText(): string | undefined {
    const source = this.#source;
    if (source.kind !== "whole" || typeof source.chunk !== "string") return undefined;
    this.take();
    return source.chunk;
  }

  /** The whole content, which counts as read from now on. */
  take(): ChunkSource {
    this.#require();
    const chunks = this.#chunks();
    this.#isTaken = true;
    return chunks;
  }

  /** A new body with the content of this one, which counts as read from now on. */
  move(): Body {
    this.#require();
    const moved = new Body(this.#source);
    this.#source = { kind: "whole", chunk: "" };
    this.#isTaken = true;
    return moved;
  }

  /** A new body with the same content. */
  clone(): Body {
    this.#require();
    if (this.#source.kind === "whole") return new Body(this.#source);
    const [mine, other] = teeWithClones(this.stream);
    this.#source = { kind: "stream", stream: mine };
    return new Body({ kind: "stream", stream: other });
  }

  #require(): void {
    if (this.isUnusable) throw new TypeError("Body is unusable: Body has already been read");
  }

  #chunks(): ChunkSource {
    const source = this.#source;
    switch (source.kind) {
      case "whole":
        return chunksOf(source.chunk);
      case "chunks":
        return source.chunks;
      case "stream":
        return chunksOfStream(source.stream);
    }
  }
}

/** A body extracted from a tool's value, and its default content type. */
export interface ExtractedBody {
  readonly body: Body;
  readonly type: string | null;
}

/** Makes a body of any value that the standard allows, or of a stream of Node's. */
export function extractBody(init: unknown): ExtractedBody {
  const parts = realmParts();
  const whole = (chunk: Chunk, type: string | null) => ({ body: new Body({ kind: "whole", chunk }), type });
  if (parts.isStream(init)) {
    if (init.locked || isDisturbed(init)) throw new TypeError("The stream of a body is locked or has been read");
    return { body: new Body({ kind: "stream", stream: init }), type: null };
  }
  const blob = blobBytes(init);
  if (blob !== undefined) return whole(blob, (init as Blob).type === "" ? null : (init as Blob).type);
  const bytes = bytesOf(init);
  if (bytes !== undefined) return whole(bytes.slice(), null);
  if (init instanceof FormData) {
    const boundary = makeBoundary();
    return whole(encodeMultipart(formEntries(init), boundary), `multipart/form-data; boundary=${boundary}`);
  }
  const pieces = piecesOf(init);
  if (pieces !== undefined) {
    return { body: new Body({ kind: "chunks", chunks: pieces.chunks }), type: pieces.type };
  }
  const text = toText(init);
  const isQuery = init instanceof parts.URLSearchParams;
  return whole(text, isQuery ? "application/x-www-form-urlencoded;charset=UTF-8" : "text/plain;charset=UTF-8");
}

function chunksOf(chunk: Chunk): ChunkSource {
  let rest: Chunk | undefined = chunk;
  return {
    whole: chunk,
    async next() {
      const next = rest;
      rest = undefined;
      return next;
    },
    cancel: () => undefined,
  };
}

/** The streams have no public property for this, but keep it in the standard's internal slot. */
function isDisturbed(stream: ReadableStream): boolean {
  return Reflect.get(stream, "_disturbed") === true;
}

/** Random, so that no content is likely to contain it. */
function makeBoundary(): string {
  const bytes = new Uint8Array(16);
  realmParts().fillRandom(bytes);
  return `----glovebox-form-${hexOf(bytes)}`;
}
