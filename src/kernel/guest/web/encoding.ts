import { bytesOf } from "./buffer-source.ts";
import { stringFromUnits } from "./bytes.ts";
import { encodeUtf8, Utf8Decoder, writeUtf8 } from "./utf8.ts";
import { Utf16Decoder } from "./utf16.ts";
import { describeInterface } from "./web-interface.ts";

/**
 * Finds an encoding of one byte for each character by its label: the encoding's name, a line feed, and the characters of
 * the bytes 0x80 to 0xFF. Empty for any other label.
 */
export type FindSingleByte = (label: string) => string;

let findSingleByte: FindSingleByte = () => "";

/** Sets the source of encodings whose tables are not in the realm. This code is evaluated once in each realm. */
export function provideSingleByte(find: FindSingleByte): void {
  findSingleByte = find;
}

interface Encoding {
  readonly name: string;
  /** The characters of the bytes from 0x80 on; `null` for encodings of Unicode. */
  readonly high: string | null;
}

/** Encodings with their labels of the Encoding Standard: the others are found by `findSingleByte`. */
const LABELS: readonly (readonly [encoding: string, labels: string])[] = [
  ["utf-8", "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8"],
  ["utf-16le", "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le"],
  ["utf-16be", "unicodefffe utf-16be"],
  [
    "windows-1252",
    "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 " +
      "iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
  ],
];

/** The characters of the bytes 0x80 to 0x9F in windows-1252; the other bytes are their own code points. */
const WINDOWS_1252 = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";
const REPLACEMENT = "\ufffd";

interface Decoder {
  decode(bytes: Uint8Array, last: boolean): string;
}

/** Encodes strings as UTF-8. */
export class TextEncoder {
  static {
    describeInterface(this, "TextEncoder");
  }

  get encoding(): string {
    return "utf-8";
  }

  /** The UTF-8 bytes of a string, in a new array. */
  encode(input: string = ""): Uint8Array<ArrayBuffer> {
    return encodeUtf8(`${input}`);
  }

  /** Writes as many whole characters as fit. Returns the number of code units read and of bytes written. */
  encodeInto(source: string, destination: Uint8Array): { read: number; written: number } {
    const tag: unknown = Reflect.get(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag, destination);
    const bytes = tag === "Uint8Array" ? bytesOf(destination) : undefined;
    if (bytes === undefined) throw new TypeError("The destination of encodeInto has to be a Uint8Array");
    return writeUtf8(`${source}`, bytes);
  }
}

/** Decodes bytes to strings. */
export class TextDecoder {
  readonly #encoding: Encoding;
  readonly #fatal: boolean;
  readonly #ignoreBom: boolean;
  /** The decoder in the middle of a stream; `undefined` before one begins. */
  #decoder: Decoder | undefined;
  #atStart = true;

  static {
    describeInterface(this, "TextDecoder");
  }

  constructor(label: string = "utf-8", options: { readonly fatal?: boolean; readonly ignoreBOM?: boolean } = {}) {
    const found = findEncoding(`${label}`);
    if (found === undefined) throw new RangeError(`The encoding label '${label}' is not supported`);
    this.#encoding = found;
    this.#fatal = Boolean(options?.fatal);
    this.#ignoreBom = Boolean(options?.ignoreBOM);
  }

  get encoding(): string {
    return this.#encoding.name;
  }

  get fatal(): boolean {
    return this.#fatal;
  }

  get ignoreBOM(): boolean {
    return this.#ignoreBom;
  }

  /** The text of the bytes. With `stream`, an incomplete character at the end is kept for the next call. */
  decode(
    ...[input, options]: [input?: ArrayBuffer | ArrayBufferView, options?: { readonly stream?: boolean }]
  ): string {
    const bytes = input === undefined ? new Uint8Array() : bytesOf(input);
    if (bytes === undefined) throw new TypeError("The input of decode has to be an ArrayBuffer or a view of one");
    const last = !options?.stream;
    const decoder = this.#decoder ?? createDecoder(this.#encoding, this.#fatal);
    // Reset first, so that the call after a failed one starts afresh.
    this.#decoder = undefined;
    const wasAtStart = this.#atStart;
    this.#atStart = true;
    let text = decoder.decode(bytes, last);
    const isStart = wasAtStart && text !== "";
    if (!last) {
      this.#decoder = decoder;
      this.#atStart = wasAtStart && !isStart;
    }
    if (isStart && !this.#ignoreBom && this.#encoding.high === null && text.startsWith("\ufeff")) {
      text = text.slice(1);
    }
    return text;
  }
}

function findEncoding(label: string): Encoding | undefined {
  const wanted = label.replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, "").toLowerCase();
  const name = LABELS.find(([, labels]) => labels.split(" ").includes(wanted))?.[0];
  if (name !== undefined) return { name, high: name === "windows-1252" ? WINDOWS_1252 : null };
  const [found = "", high] = findSingleByte(wanted).split("\n");
  return high === undefined ? undefined : { name: found, high };
}

function createDecoder({ name, high }: Encoding, fatal: boolean): Decoder {
  if (name === "windows-1252") return { decode: decodeWindows1252 };
  if (high !== null) return { decode: (bytes) => decodeSingleBytes(bytes, high, fatal ? name : null) };
  return name === "utf-8" ? new Utf8Decoder(fatal) : new Utf16Decoder(fatal, name === "utf-16le");
}

/** Nearly all bytes are their own code points, and every byte has a character. */
function decodeWindows1252(bytes: Uint8Array): string {
  return stringFromUnits(bytes).replace(/[\x80-\x9f]/g, (char) => WINDOWS_1252.charAt(char.charCodeAt(0) - 0x80));
}

/** `fatal`: the encoding in which every byte has to have a character. */
function decodeSingleBytes(bytes: Uint8Array, high: string, fatal: string | null): string {
  const units = new Uint16Array(bytes.length);
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0;
    units[index] = byte < 0x80 ? byte : high.charCodeAt(byte - 0x80);
  }
  const text = stringFromUnits(units);
  if (fatal === null || !text.includes(REPLACEMENT)) return text;
  throw new TypeError(`The encoded data was not valid for encoding ${fatal}`);
}
