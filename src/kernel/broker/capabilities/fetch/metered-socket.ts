import { Duplex } from "node:stream";

/** Bytes that are passed on at once: as many frames as they may hold are parsed before the next check. */
const SLICE_BYTES = 2 * 1024;
const NONE: Buffer = Buffer.alloc(0);

type Done = (error?: Error | null) => void;

/**
 * The connection of a WebSocket, for the parser of its frames: each byte from the server is counted, bytes arrive in
 * small slices, and none arrive while it is held.
 */
export class MeteredSocket extends Duplex {
  readonly #raw: Duplex;
  readonly #count: (bytes: number) => Error | null;
  /** Bytes from the server that the parser has not got yet. */
  #rest: Buffer = NONE;
  #hasEnded = false;
  #isWanted = false;
  #isHeld = false;

  /** `count`: counts bytes from the server; the error for those beyond a limit. */
  constructor(raw: Duplex, count: (bytes: number) => Error | null) {
    super({ allowHalfOpen: false, readableHighWaterMark: SLICE_BYTES });
    this.#raw = raw;
    this.#count = count;
    raw.on("data", (chunk: Buffer) => this.#receive(chunk));
    // Bytes received before an error are still passed on.
    raw.on("error", () => {});
    // The parser listens only once it has accepted the handshake.
    this.on("error", () => {});
    raw.once("close", () => {
      this.#hasEnded = true;
      this.#pass();
    });
  }

  /** Passes nothing on until `release`, as the tool takes no messages. */
  hold(): void {
    this.#isHeld = true;
    this.pause();
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.resume();
    this.#pass();
  }

  /** The parser resumes whenever it has room, whether or not the tool takes the messages. */
  override resume(): this {
    return this.#isHeld ? this : super.resume();
  }

  override _read(): void {
    this.#isWanted = true;
    this.#pass();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#send(chunk, done);
  }

  override _writev(chunks: { readonly chunk: Buffer }[], done: Done): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  override _final(done: Done): void {
    if (this.#raw.destroyed) done();
    else this.#raw.end(() => done());
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#rest = NONE;
    this.#raw.destroy();
    done(error);
  }

  #send(bytes: Buffer, done: Done): void {
    if (this.#raw.destroyed) done(new Error("the connection was closed"));
    else this.#raw.write(bytes, done);
  }

  #receive(chunk: Buffer): void {
    const failure = this.#count(chunk.length);
    if (failure !== null) return void this.destroy(failure);
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#raw.pause();
    this.#pass();
  }

  #pass(): void {
    while (this.#isWanted && !this.#isHeld && this.#rest.length > 0) {
      const slice = this.#rest.subarray(0, SLICE_BYTES);
      this.#rest = this.#rest.subarray(slice.length);
      this.#isWanted = this.push(slice);
    }
    if (this.#rest.length > 0 || this.destroyed) return;
    if (!this.#hasEnded) this.#raw.resume();
    else if (!this.readableEnded) this.push(null);
  }
}
