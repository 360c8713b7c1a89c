import { isObject, requireArguments, toText } from "./arguments.ts";
import { bytesOf } from "./buffer-source.ts";
import { joinBytes } from "./bytes.ts";
import { openByteStream } from "./byte-stream.ts";
import { Utf8Decoder, encodeUtf8 } from "./utf8.ts";
import { describeInterface } from "./web-interface.ts";
import type { ReadableStream } from "web-streams-polyfill";

/** Values that a blob can be made from. */
export type BlobPart = string | Blob | ArrayBuffer | ArrayBufferView;

/** Options of a blob. */
export interface BlobOptions {
  readonly type?: string;
  readonly endings?: "transparent" | "native";
}

/** Already copied bytes with the blob's type: from this, the code in this folder creates blobs. */
class BlobContent {
  readonly bytes: Uint8Array;
  readonly type: string;

  constructor(bytes: Uint8Array, type: string) {
    this.bytes = bytes;
    this.type = type;
  }
}

let readContent = (_blob: object): BlobContent | undefined => undefined;

/** Immutable bytes with a type. */
export class Blob {
  readonly #content: BlobContent;

  static {
    describeInterface(this, "Blob");
    readContent = (blob) => (#content in blob ? blob.#content : undefined);
  }

  constructor(...[parts, options]: [parts?: Iterable<BlobPart> | BlobContent, options?: BlobOptions | null]) {
    this.#content = parts instanceof BlobContent ? parts : readParts(parts, options);
  }

  get size(): number {
    return this.#content.bytes.length;
  }

  get type(): string {
    return this.#content.type;
  }

  slice(...[start, end, type]: [start?: number, end?: number, type?: string]): Blob {
    const { bytes } = this.#content;
    const from = readIndex(start, bytes.length, 0);
    const to = readIndex(end, bytes.length, bytes.length);
    return blobOf(bytes.subarray(from, Math.max(from, to)), type === undefined ? "" : readType(type));
  }

  async text(): Promise<string> {
    const text = new Utf8Decoder(false).decode(this.#content.bytes, true);
    return text.startsWith("\ufeff") ? text.slice(1) : text;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#content.bytes.slice().buffer as ArrayBuffer;
  }

  async bytes(): Promise<Uint8Array> {
    return this.#content.bytes.slice();
  }

  stream(): ReadableStream<Uint8Array> {
    const { bytes } = this.#content;
    let isDone = false;
    const next = async () => {
      if (isDone) return undefined;
      isDone = true;
      return bytes;
    };
    return openByteStream({ next, cancel: () => undefined });
  }
}

/** A blob with a name. */
export class File extends Blob {
  readonly #name: string;
  readonly #lastModified: number;

  static {
    describeInterface(this, "File");
  }

  constructor(
    parts: Iterable<BlobPart> | BlobContent,
    name: string,
    ...[options]: [options?: (BlobOptions & { readonly lastModified?: number }) | null]
  ) {
    requireArguments(arguments.length, 2);
    super(parts ?? (null as never), options ?? {});
    this.#name = toText(name);
    const given: unknown = options?.lastModified;
    this.#lastModified = given === undefined ? Date.now() : Math.trunc(Number(given)) || 0;
  }

  get name(): string {
    return this.#name;
  }

  get lastModified(): number {
    return this.#lastModified;
  }

  get webkitRelativePath(): string {
    return "";
  }
}

/** The bytes of a blob, which must not be changed; `undefined` for any other value. */
export function blobBytes(value: unknown): Uint8Array | undefined {
  return typeof value === "object" && value !== null ? readContent(value)?.bytes : undefined;
}

/** A blob of bytes that do not change any more. */
export function blobOf(bytes: Uint8Array, type: string): Blob {
  return new Blob(new BlobContent(bytes, type));
}

/** A file with the bytes and the type of a blob. */
export function fileOf(blob: Blob, name: string, lastModified?: number): File {
  const content = new BlobContent(blobBytes(blob) ?? new Uint8Array(), blob.type);
  return new File(content, name, lastModified === undefined ? {} : { lastModified });
}

/** Parts are read before options, each once, in the order of the arguments. */
function readParts(parts: unknown, options: unknown): BlobContent {
  const given = parts === undefined ? [] : readSequence(parts);
  const wanted: Readonly<Record<string, unknown>> = readDictionary(options);
  const { endings: givenEndings } = wanted;
  const endings = givenEndings === undefined ? "transparent" : `${givenEndings as string}`;
  if (endings !== "transparent" && endings !== "native") {
    throw new TypeError("The endings of a blob are transparent or native");
  }
  const { type: givenType } = wanted;
  const type = givenType === undefined ? "" : readType(givenType);
  const chunks = given.map((part) => {
    if (typeof part !== "string") return blobBytes(part) ?? bytesOf(part) ?? new Uint8Array();
    return encodeUtf8(endings === "native" ? part.replace(/\r\n?/g, "\n") : part);
  });
  return new BlobContent(joinBytes(chunks), type);
}

/** The parts: blobs, buffers and views unchanged, all other values as text. */
function readSequence(parts: unknown): (string | object)[] {
  const method: unknown = isObject(parts) ? Reflect.get(parts, Symbol.iterator) : undefined;
  if (typeof method !== "function") throw new TypeError("The parts of a blob have to be a sequence");
  const sequence = { [Symbol.iterator]: () => Reflect.apply(method, parts, []) as Iterator<unknown> };
  return Array.from(sequence, (part) => {
    const isBytes = blobBytes(part) !== undefined || bytesOf(part) !== undefined;
    return isBytes ? (part as object) : toText(part);
  });
}

function readDictionary(options: unknown): Record<string, unknown> {
  if (options === undefined || options === null) return {};
  if (typeof options === "object" || typeof options === "function") return options as Record<string, unknown>;
  throw new TypeError("The options of a blob have to be an object");
}

function readType(type: unknown): string {
  const text = `${type as string}`;
  return /[^\x20-\x7e]/.test(text) ? "" : text.toLowerCase();
}

/** An index of `slice`: negative ones count from the end. */
function readIndex(index: unknown, length: number, absent: number): number {
  if (index === undefined) return absent;
  const number = Number(index);
  const whole = Number.isNaN(number) ? 0 : Math.trunc(number);
  return whole < 0 ? Math.max(length + whole, 0) : Math.min(whole, length);
}
