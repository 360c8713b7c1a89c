import { Transform, type TransformCallback } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { FetchFailure } from "./failure.ts";

/** More than anybody needs; each is a way to make much of little. */
const CODINGS_MAX = 2;

/** By the first byte of what is decoded: "deflate" is zlib's format by the standard, and bare by the habit of some servers. */
const DECODERS: ReadonlyMap<string, (first: number) => Transform> = new Map<string, (first: number) => Transform>([
  ["gzip", () => createGunzip()],
  ["x-gzip", () => createGunzip()],
  ["deflate", (first) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw())],
  ["br", () => createBrotliDecompress()],
]);

/** What undoes the codings of a body, in the order in which they are undone. A body with one that is not known stays as it is. */
export function decodersOf(contentEncoding: string): readonly Transform[] {
  const codings = contentEncoding
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  if (codings.length > CODINGS_MAX) throw new FetchFailure(`the body is encoded more than ${CODINGS_MAX} times`);
  const makers = codings.toReversed().flatMap((coding) => DECODERS.get(coding) ?? []);
  return makers.length < codings.length ? [] : makers.map((make) => new Decoder(make));
}

/** Lets bytes through up to a number of them. */
export class Meter extends Transform {
  readonly #bytesMax: number;
  readonly #excess: () => Error;
  #bytes = 0;

  constructor(bytesMax: number, excess: () => Error) {
    super();
    this.#bytesMax = bytesMax;
    this.#excess = excess;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#bytesMax) callback(this.#excess());
    else callback(null, chunk);
  }
}

/** Decodes from the first byte on: where there is none, there is nothing to be decoded. */
class Decoder extends Transform {
  readonly #make: (first: number) => Transform;
  #inner: Transform | null = null;

  constructor(make: (first: number) => Transform) {
    super();
    this.#make = make;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#inner ??= this.#begin(chunk[0] ?? 0);
    this.#inner.write(chunk, () => callback());
  }

  override _flush(callback: TransformCallback): void {
    if (this.#inner === null) return callback();
    this.#inner.once("end", () => callback());
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
    return inner;
  }
}
