import { isUtf8 } from "node:buffer";
import { pipeline, type Readable, Transform, type TransformCallback } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { RedactedStream } from "../../../base/redaction/redactor.ts";
import type { OnHost } from "../capability.ts";
import { ByteMeter, PieceMeter } from "./decoding.ts";

/** A part of a body as sent to the tool: text where it is valid UTF-8, else Base64. */
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
  /** Removes the secrets of the request; `null` where it had none. */
  readonly redacted: RedactedStream | null;
  /** Redacts in the tenant's turn. */
  readonly onHost: OnHost;
  /** Converts an error for the tool. */
  readonly failureOf: (error: unknown) => Error;
}

const PIECE_BYTES_MAX = 512 * 1024;
const EMPTY = Buffer.alloc(0);

/**
 * A response body: decoded, limited to the call's bytes, and without the secrets of its request. Read from the network only as
 * fast as the tool reads it.
 */
export class ResponseBody {
  readonly #stream: Readable;
  #failure: Error | null = null;
  #isEnded = false;
  #wake: () => void = () => {};
  /** Beginning of a character whose remaining bytes have not arrived. */
  #rest: Buffer = EMPTY;
  /** Serializes reads. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(source: BodySource) {
    const { stream, decoders, wireBytesMax, excess, failureOf } = source;
    const stages = decoders.flatMap((decoder) => [new ByteMeter(wireBytesMax, excess), decoder]);
    this.#stream = new Outlet(source);
    pipeline([stream, ...stages, this.#stream], (error) => {
      if (error === null || error === undefined) this.#isEnded = true;
      else this.#failure ??= failureOf(error);
      this.#wake();
    });
    this.#stream.on("readable", () => this.#wake());
  }

  /** Returns the available bytes, or waits for the first. Rejects where the body failed. */
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
    this.#stream.destroy();
    this.#wake();
  }

  #inTurn<Value>(task: () => Promise<Value>): Promise<Value> {
    const done = this.#turn.then(task);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #gather(bytesMax: number, patienceMs: number | null): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let size = 0;
    let isLate = false;
    const timer = patienceMs === null ? undefined : setTimeout(() => ((isLate = true), this.#wake()), patienceMs);
    while (size < bytesMax) {
      const chunk = this.#stream.read() as Buffer | null;
      if (chunk !== null) {
        chunks.push(chunk);
        size += chunk.length;
      } else if (this.#isEnded || this.#failure !== null || isLate) break;
      else if (size === 0 || patienceMs !== null) await new Promise<void>((resolve) => (this.#wake = resolve));
      else {
        // Bytes already in the stages arrive within one turn of the event loop.
        await nextTurn();
        if (this.#stream.readableLength === 0) break;
      }
    }
    clearTimeout(timer);
    return Buffer.concat([this.#rest, ...chunks]);
  }

  #pieceOf(bytes: Buffer): BodyChunk {
    const more = !this.#isEnded || this.#stream.readableLength > 0;
    const cut = more && this.#failure === null ? unfinished(bytes) : 0;
    const whole = bytes.subarray(0, bytes.length - cut);
    this.#rest = bytes.subarray(bytes.length - cut);
    return { part: whole.length === 0 ? null : bodyDataOf(whole), more };
  }
}

/** Last stage: counts bytes and removes secrets. */
class Outlet extends Transform {
  readonly #source: BodySource;
  /** `null` where the pieces are the decoders'. */
  readonly #pieces: PieceMeter | null;

  constructor(source: BodySource) {
    super();
    this.#source = source;
    this.#pieces = source.decoders.length === 0 ? new PieceMeter() : null;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    const { take, excess, redacted } = this.#source;
    const failure = this.#pieces?.take(chunk) ?? null;
    if (failure !== null) callback(failure);
    else if (take(chunk.length) < chunk.length) callback(excess());
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
