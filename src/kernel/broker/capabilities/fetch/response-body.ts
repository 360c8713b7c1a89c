import { isUtf8 } from "node:buffer";
import { pipeline, type Readable, Transform, type TransformCallback } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { RedactedStream } from "../../../base/redaction/redactor.ts";
import type { OnHost } from "../capability.ts";
import { ByteMeter, PieceMeter } from "./decoding.ts";

/** A part of a body as sent to the tool: text if it is valid UTF-8, else Base64. */
export type BodyData = { readonly text: string } | { readonly base64: string };

export function readBodyData(part: BodyData): string | Buffer {
  return "text" in part ? part.text : Buffer.from(part.base64, "base64");
}

function bodyDataOf(bytes: Buffer): BodyData {
  // Base64 for bytes with zeros: JSON writes six characters for each of them.
  return isUtf8(bytes) && !bytes.includes(0) ? { text: bytes.toString() } : { base64: bytes.toString("base64") };
}

/** Number of bytes at the end that begin an incomplete UTF-8 character. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? back : 0;
    }
    if (byte < 0x80) return 0;
  }
  return 0;
}

/** A part of a body, and whether more may follow. */
export interface BodyChunk {
  readonly part: BodyData | null;
  readonly more: boolean;
}

/** Source of a body, and the stages between it and the tool. */
interface BodySource {
  readonly stream: Readable;
  readonly decoders: readonly Transform[];
  /** Maximum bytes on the wire; decoded bytes are counted by `take`. */
  readonly wireBytesMax: number;
  /** Counts decoded bytes, and returns the number of them within the limit. */
  readonly take: (bytes: number) => number;
  /** Makes the error for bytes beyond the limit. */
  readonly excess: () => Error;
  /** Removes the secrets of the request; `null` if it had none. */
  readonly redacted: RedactedStream | null;
  /** Redacts in the tenant's turn. */
  readonly onHost: OnHost;
  /** Converts an error for the tool. */
  readonly failureOf: (error: unknown) => Error;
}

const PIECE_BYTES_MAX = 512 * 1024;
/** Received bytes that wait for the tool; from here on, no more are read from the network. */
const QUEUED_BYTES_MAX = 64 * 1024;
const EMPTY = Buffer.alloc(0);

/**
 * A response body: decoded, limited to the call's bytes, and without the secrets of its request. Read from the network
 * only as fast as the tool reads it.
 */
export class ResponseBody {
  readonly #stream: Readable;
  /** Received parts that the tool has not read, and the number of their bytes. */
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #failure: Error | null = null;
  #isEnded = false;
  #wake: () => void = () => {};
  /** Beginning of a character whose remaining bytes have not arrived. */
  #rest: Buffer = EMPTY;
  /** Serializes reads. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(source: BodySource) {
    // Most bodies need no stages, and these cost more than all else that a small body needs.
    const isPlain = source.decoders.length === 0 && source.redacted === null;
    this.#stream = isPlain ? this.#readPlain(source) : this.#readStaged(source);
  }

  #readPlain(source: BodySource): Readable {
    const { stream } = source;
    const count = counterOf(source);
    stream.on("data", (chunk: Buffer) => {
      const failure = count(chunk);
      if (failure === null) this.#receive(chunk);
      else stream.destroy(failure);
    });
    stream.once("end", () => this.#end(null));
    stream.on("error", (error) => this.#end(source.failureOf(error)));
    stream.once("close", () => this.#end(source.failureOf(new Error("the connection was closed"))));
    return stream;
  }

  #readStaged(source: BodySource): Readable {
    const { stream, decoders, wireBytesMax, excess, failureOf } = source;
    const stages = decoders.flatMap((decoder) => [new ByteMeter(wireBytesMax, excess), decoder]);
    const outlet = new Outlet(source);
    pipeline([stream, ...stages, outlet], (error) => {
      // Without an error the pipeline ends when its last stage has been written, which may hold bytes still.
      if (error !== null && error !== undefined) this.#end(failureOf(error));
    });
    outlet.on("data", (chunk: Buffer) => this.#receive(chunk));
    outlet.once("end", () => this.#end(null));
    return outlet;
  }

  #receive(chunk: Buffer): void {
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    if (this.#queuedBytes >= QUEUED_BYTES_MAX) this.#stream.pause();
    this.#wake();
  }

  /** The first end counts: a body that has ended can no longer fail. */
  #end(failure: Error | null): void {
    if (this.#isEnded || this.#failure !== null) return;
    this.#isEnded = failure === null;
    this.#failure = failure;
    if (failure !== null) this.#drop();
    this.#wake();
  }

  #drop(): void {
    this.#queue = [];
    this.#queuedBytes = 0;
  }

  /** All queued bytes. */
  #take(): readonly Buffer[] {
    const chunks = this.#queue;
    this.#drop();
    if (this.#stream.isPaused()) this.#stream.resume();
    return chunks;
  }

  /** Returns the available bytes, or waits for the first. Rejects if the body failed. */
  read(): Promise<BodyChunk> {
    return this.#inTurn(async () => {
      for (;;) {
        const bytes = await this.#gather(PIECE_BYTES_MAX, null);
        if (bytes.length === 0 && this.#failure !== null) throw this.#failure;
        const piece = this.#pieceOf(bytes);
        if (piece.part !== null || !piece.more) return piece;
      }
    });
  }

  /**
   * Returns the bytes that arrive within `patienceMs`: all of a small body, which then needs no `read`. Never rejects.
   */
  begin(bytesMax: number, patienceMs: number): Promise<BodyChunk> {
    return this.#inTurn(async () => this.#pieceOf(await this.#gather(bytesMax, patienceMs)));
  }

  /** Discards the rest of the body. */
  cancel(reason: Error): void {
    this.#failure ??= reason;
    this.#drop();
    this.#stream.destroy();
    this.#wake();
  }

  #inTurn<Value>(task: () => Promise<Value>): Promise<Value> {
    const done = this.#turn.then(task);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #gather(bytesMax: number, patienceMs: number | null): Promise<Buffer> {
    const chunks: Buffer[] = [this.#rest];
    let size = 0;
    let isLate = false;
    let timer: NodeJS.Timeout | undefined;
    while (size < bytesMax) {
      if (this.#queuedBytes > 0) {
        size += this.#queuedBytes;
        chunks.push(...this.#take());
      } else if (this.#isEnded || this.#failure !== null || isLate) break;
      else if (size === 0 || patienceMs !== null) {
        if (patienceMs !== null) timer ??= setTimeout(() => ((isLate = true), this.#wake()), patienceMs);
        await new Promise<void>((resolve) => (this.#wake = resolve));
      } else {
        // Bytes already in the stages arrive within one turn of the event loop.
        await nextTurn();
        if (this.#queuedBytes === 0) break;
      }
    }
    clearTimeout(timer);
    return Buffer.concat(chunks);
  }

  #pieceOf(bytes: Buffer): BodyChunk {
    const more = !this.#isEnded || this.#queuedBytes > 0;
    const cut = more && this.#failure === null ? unfinished(bytes) : 0;
    const whole = bytes.subarray(0, bytes.length - cut);
    this.#rest = bytes.subarray(bytes.length - cut);
    return { part: whole.length === 0 ? null : bodyDataOf(whole), more };
  }
}

/** Counts the bytes and pieces of a body; returns the error for a part beyond a limit. */
function counterOf({ decoders, take, excess }: BodySource): (chunk: Buffer) => Error | null {
  // If there are decoders, the pieces are theirs.
  const pieces = decoders.length === 0 ? new PieceMeter() : null;
  return (chunk) => pieces?.take(chunk) ?? (take(chunk.length) < chunk.length ? excess() : null);
}

/** Last stage: counts bytes and removes secrets. */
class Outlet extends Transform {
  readonly #source: BodySource;
  readonly #count: (chunk: Buffer) => Error | null;

  constructor(source: BodySource) {
    super();
    this.#source = source;
    this.#count = counterOf(source);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    const { redacted } = this.#source;
    const failure = this.#count(chunk);
    if (failure !== null) callback(failure);
    else if (redacted === null) callback(null, chunk);
    else this.#inTurn(() => redacted.push(chunk), callback);
  }

  override _flush(callback: TransformCallback): void {
    const { redacted } = this.#source;
    if (redacted === null) callback();
    else this.#inTurn(() => redacted.end(), callback);
  }

  #inTurn(redact: () => Buffer, callback: TransformCallback): void {
    const done = (bytes: Buffer) => callback(null, bytes);
    try {
      const bytes = this.#source.onHost(redact);
      if (bytes instanceof Promise) bytes.then(done, callback);
      else done(bytes);
    } catch (error) {
      callback(error instanceof Error ? error : new Error("the body could not be read"));
    }
  }
}
