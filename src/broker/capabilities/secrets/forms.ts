/** Alphabet of a form: plain bytes, or digits, some of which have several characters. */
export type Alphabet = "bytes" | "base64" | "hex";

/** Bytes that reveal a secret. Escapes and line breaks are decoded during the search, so they need no forms. */
export interface EncodedForm {
  readonly alphabet: Alphabet;
  readonly bytes: Buffer;
}

/**
 * Minimum length of a secret's line that is searched for by itself: a shorter one reveals little, and may occur by
 * chance.
 */
const LINE_MIN = 20;
/** Header and footer lines of PEM, which are public. */
const LABEL = /^-----[A-Z0-9 ]*-----$/;

/**
 * All forms in which a secret may come back: plain, line by line, in Base64 and in hex. Base64 depends on the position
 * modulo 3, so there are three forms of it, without the digits shared with neighbouring bytes.
 */
export function formsOf(value: string): readonly EncodedForm[] {
  const text = value.replaceAll("\r\n", "\n");
  const lines = text.split("\n").filter((line) => line.length >= LINE_MIN && !LABEL.test(line));
  const latin1 = /^[\0-\xff]*$/.test(text) ? [Buffer.from(text, "latin1")] : [];
  const plain = [Buffer.from(text), ...latin1, ...lines.map((line) => Buffer.from(line))].map(shortenRuns);
  const wholes = text === value ? [Buffer.from(text)] : [Buffer.from(text), Buffer.from(value)];
  const forms = [
    ...plain.map((bytes): EncodedForm => ({ alphabet: "bytes", bytes })),
    ...wholes.flatMap((bytes) => [0, 1, 2].map((offset): EncodedForm => formOf("base64", base64At(bytes, offset)))),
    ...wholes.map((bytes): EncodedForm => formOf("base64", bytes.toString("base64"))),
    ...wholes.map((bytes): EncodedForm => formOf("hex", bytes.toString("hex"))),
  ];
  return [...new Map(forms.map((form) => [`${form.alphabet} ${form.bytes.toString("latin1")}`, form])).values()];
}

/** Maps a byte to the canonical character of its digit, for alphabets with several characters for a digit. */
export function foldByte(alphabet: Alphabet, byte: number): number {
  if (alphabet === "base64") return byte === 0x2d ? 0x2b : byte === 0x5f ? 0x2f : byte;
  return alphabet === "hex" && byte >= 0x41 && byte <= 0x46 ? byte + 0x20 : byte;
}

/** Encodes a secret for a URL's path or query, and for a form. */
export function percentOf(value: string): string {
  const encode = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(value.toWellFormed()).replaceAll(/[!'()*]/g, encode);
}

/**
 * Shortens runs of backslashes to two. Each backslash of a form matches a run of them, as formats multiply them, so two
 * match a run of any length. More would only add ways to divide the same run.
 */
function shortenRuns(bytes: Buffer): Buffer {
  return Buffer.from(
    bytes.toString("latin1").replaceAll(/\\{3,}/g, () => "\\\\"),
    "latin1",
  );
}

function formOf(alphabet: Alphabet, text: string): EncodedForm {
  return { alphabet, bytes: Buffer.from(text) };
}

/** The Base64 digits determined by the bytes alone, after `offset` other bytes. */
function base64At(bytes: Buffer, offset: number): string {
  const first = Math.ceil((8 * offset) / 6);
  const last = Math.floor((8 * (offset + bytes.length)) / 6);
  return Buffer.concat([Buffer.alloc(offset), bytes])
    .toString("base64")
    .slice(first, last);
}
