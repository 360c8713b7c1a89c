import { Transform, type TransformCallback } from "node:stream";
// A namespace import, because an older Node must be able to load this module: it has no export for Zstandard.
import * as zlib from "node:zlib";
import { FetchFailure } from "./failure.ts";

/** Maximum number of codings: each can inflate a small body to a large one. */
const CODINGS_MAX = 2;
/** 8 MiB: the maximum window that a response may require (RFC 9659). */
const ZSTD_WINDOW_LOG_MAX = 23;

/** Value of the request header `accept-encoding`. */
export const ACCEPTED_CODINGS = "gzip, deflate, br, zstd";

/**
 * Decoders by coding, chosen by the first byte of the body: "deflate" is zlib's format by the standard, and raw on some
 * servers.
 */
const DECODERS: ReadonlyMap<string, (first: number) => Transform> = new Map<string, (first: number) => Transform>([
  ["gzip", () => zlib.createGunzip()],
  ["x-gzip", () => zlib.createGunzip()],
  ["deflate", (first) => ((first & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw())],
  ["br", () => zlib.createBrotliDecompress()],
  ["zstd", () => zlib.createZstdDecompress({ params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } })],
]);

/**
 * Decoders of a body, in the order of decoding. Throws on an unknown coding: secrets could not be found in a body that
 * cannot be decoded.
 */
export function decodersOf(contentEncoding: string): readonly Transform[] {
  const codings = contentEncoding
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  if (codings.length > CODINGS_MAX) throw new FetchFailure(`the body is encoded more than ${CODINGS_MAX} times`);
  const makers = codings.toReversed().map((coding) => {
    const make = DECODERS.get(coding);
    if (make !== undefined) return make;
    throw new FetchFailure(`the body has a content-encoding other than ${ACCEPTED_CODINGS}`);
  });
  return makers.map((make) => new Decoder(make));
}

/** Number of pieces of a body that may be short, and the mean length of further ones, in bytes. */
const SHORT_PIECES_MAX = 4_096;
const PIECE_BYTES_MIN = 32;

/**
 * Counts the pieces in which a server sends a body: one of a single byte takes as much time and memory as a long one, so
 * limits in bytes do not bound them.
 */
export class PieceMeter {
  #pieces = 0;
  #bytes = 0;

  /** The error for a body of too many short pieces; `null` as long as there are few. */
  take({ length }: Buffer): Error | null {
    this.#bytes += length;
    if (++this.#pieces <= SHORT_PIECES_MAX + this.#bytes / PIECE_BYTES_MIN) return null;
    return new FetchFailure("the server sends the body in too many pieces of a few bytes");
  }
}

/** The pieces of a body up to a maximum of bytes. Throws `excess()` beyond that, and where too many pieces are short. */
export async function* boundedPieces(
  body: AsyncIterable<unknown>,
  bytesMax: number,
  excess: () => Error,
): AsyncGenerator<Buffer> {
  const pieces = new PieceMeter();
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length;
    const failure = bytes > bytesMax ? excess() : pieces.take(piece);
    // Leaving the loop destroys the body.
    if (failure !== null) throw failure;
    yield piece;
  }
}

/** Passes bytes through up to a maximum. */
export class ByteMeter extends Transform {
  readonly #bytesMax: number;
  readonly #excess: () => Error;
  readonly #pieces = new PieceMeter();
  #bytes = 0;

  constructor(bytesMax: number, excess: () => Error) {
    super();
    this.#bytesMax = bytesMax;
    this.#excess = excess;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#bytes += chunk.length;
    const failure = this.#bytes > this.#bytesMax ? this.#excess() : this.#pieces.take(chunk);
    if (failure === null) callback(null, chunk);
    else callback(failure);
  }
}

/**
 * Creates its decoder at the first byte, so that an empty body is valid. Ignores bytes after the end of the encoded
 * data, as browsers do.
 */
class Decoder extends Transform {
  readonly #make: (first: number) => Transform;
  #inner: Transform | null = null;
  #isDone = false;
  /** Callback of the chunk being decoded. Kept here, because a decoder that has ended does not call its own. */
  #waiting: (() => void) | null = null;

  constructor(make: (first: number) => Transform) {
    super();
    this.#make = make;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#inner ??= this.#begin(chunk[0] ?? 0);
    if (this.#isDone) return callback();
    this.#waiting = callback;
    this.#inner.write(chunk, () => this.#goOn());
  }

  override _flush(callback: TransformCallback): void {
    if (this.#inner === null || this.#isDone) return callback();
    this.#waiting = callback;
    this.#inner.end();
  }

  override _read(size: number): void {
    this.#inner?.resume();
    super._read(size);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#inner?.destroy();
    super._destroy(error, callback);
  }

  #begin(first: number): Transform {
    const inner = this.#make(first);
    inner.on("error", (error) => this.destroy(error));
    inner.on("data", (chunk) => {
      if (!this.push(chunk)) inner.pause();
    });
    inner.once("end", () => {
      this.#isDone = true;
      this.#goOn();
    });
    return inner;
  }

  #goOn(): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.();
  }
}
