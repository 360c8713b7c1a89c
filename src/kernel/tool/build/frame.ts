import { StringDecoder } from "node:string_decoder";

/**
 * A message between the engine and a build process: a short JSON value, then unchanged texts, so that neither side
 * parses an untrusted text in order to pass it on.
 *
 * In bytes: the length of the head in four, the head, the texts. The head's `lengths` are those of the texts.
 */
export interface Frame {
  readonly head: unknown;
  readonly texts: readonly string[];
}

export interface FrameLimits {
  readonly headBytes: number;
  /** Of all texts together. */
  readonly textBytes: number;
}

interface Envelope {
  readonly head: unknown;
  readonly lengths: readonly number[];
}

const PREFIX_BYTES = 4;
const TEXTS_MAX = 16;

/** A text, or its bytes in the pieces in which they came. */
export type FrameText = string | readonly Buffer[];

export function encodeFrame({
  head,
  texts,
}: {
  readonly head: unknown;
  readonly texts: readonly FrameText[];
}): readonly Buffer[] {
  const bodies = texts.map((text) => (typeof text === "string" ? [Buffer.from(text)] : text));
  const lengths = bodies.map((parts) => parts.reduce((sum, { length }) => sum + length, 0));
  const envelope: Envelope = { head, lengths };
  const json = Buffer.from(JSON.stringify(envelope));
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32LE(json.length);
  return [prefix, json, ...bodies.flat()];
}

/**
 * Collects frames from chunks. Texts are decoded as their bytes come, so that no turn of the event loop does so for more
 * than a few chunks. Throws a `RangeError` for a frame that is larger than the limits, or has another form.
 */
export class FrameReader {
  readonly #limits: FrameLimits;
  /** The bytes of the prefix and of the head that have come. */
  #start: Buffer = Buffer.alloc(0);
  #body: BodyReader | undefined;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** The frame that this chunk completes, if it does. Each frame is answered before the next is sent. */
  push(chunk: Buffer): Frame | undefined {
    const rest = this.#body === undefined ? this.#readStart(chunk) : chunk;
    const frame = rest === undefined ? undefined : this.#body?.push(rest);
    if (frame !== undefined) this.#body = undefined;
    return frame;
  }

  /** The bytes after the head; `undefined` if it is not complete. */
  #readStart(chunk: Buffer): Buffer | undefined {
    const bytes = this.#start.length === 0 ? chunk : Buffer.concat([this.#start, chunk]);
    this.#start = bytes;
    if (bytes.length < PREFIX_BYTES) return undefined;
    const headBytes = bytes.readUInt32LE();
    if (headBytes > this.#limits.headBytes) throw new RangeError(`a head of ${headBytes} bytes`);
    const end = PREFIX_BYTES + headBytes;
    if (bytes.length < end) return undefined;
    const envelope = asEnvelope(JSON.parse(bytes.toString("utf8", PREFIX_BYTES, end)));
    const textBytes = envelope.lengths.reduce((sum, length) => sum + length, 0);
    if (textBytes > this.#limits.textBytes) throw new RangeError(`texts of ${textBytes} bytes`);
    this.#start = Buffer.alloc(0);
    this.#body = new BodyReader(envelope);
    return bytes.subarray(end);
  }
}

/** Collects the texts of a frame. */
class BodyReader {
  readonly #head: unknown;
  readonly #lengths: readonly number[];
  readonly #texts: string[] = [];
  #parts: string[] = [];
  /** Received bytes of the current text. */
  #size = 0;
  #decoder = new StringDecoder();

  constructor({ head, lengths }: Envelope) {
    this.#head = head;
    this.#lengths = lengths;
  }

  push(chunk: Buffer): Frame | undefined {
    let at = 0;
    for (let wanted = this.#wanted(); wanted !== undefined; wanted = this.#wanted()) {
      const part = chunk.subarray(at, at + wanted - this.#size);
      at += part.length;
      this.#size += part.length;
      this.#parts.push(this.#decoder.write(part));
      if (this.#size < wanted) return undefined;
      this.#texts.push(this.#parts.join("") + this.#decoder.end());
      this.#parts = [];
      this.#size = 0;
    }
    if (at < chunk.length) throw new RangeError("more bytes than the frame has");
    return { head: this.#head, texts: this.#texts };
  }

  /** Bytes of the current text; `undefined` after the last. */
  #wanted(): number | undefined {
    return this.#lengths[this.#texts.length];
  }
}

function asEnvelope(value: unknown): Envelope {
  if (typeof value === "object" && value !== null && "head" in value && "lengths" in value) {
    const { head, lengths } = value;
    if (Array.isArray(lengths) && lengths.length <= TEXTS_MAX && lengths.every(isLength)) return { head, lengths };
  }
  throw new RangeError("a frame of another form");
}

function isLength(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}
