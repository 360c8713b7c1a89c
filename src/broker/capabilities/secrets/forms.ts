/** Of what a form is made: of bytes as they are, or of digits, of which some have several signs. */
export type Alphabet = "bytes" | "base64" | "hex";

/** Something that tells a secret. What formats make of its characters, and line breaks, are undone where it is looked for. */
export interface EncodedForm {
  readonly alphabet: Alphabet;
  readonly bytes: Buffer;
}

/** A line of a secret that is shorter tells little, and may stand in a text by chance. */
const LINE_MIN = 20;
/** Lines of PEM that say what it is; they are no secret. */
const LABEL = /^-----[A-Z0-9 ]*-----$/;

/**
 * The ways in which a secret may come back: as it is, line by line, and as digits. In base64 it depends on what stands
 * before it, so there are three, each without the digits that it shares with its neighbours.
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

/** The digit that a byte stands for, where an alphabet has several signs for one. */
export function foldByte(alphabet: Alphabet, byte: number): number {
  if (alphabet === "base64") return byte === 0x2d ? 0x2b : byte === 0x5f ? 0x2f : byte;
  return alphabet === "hex" && byte >= 0x41 && byte <= 0x46 ? byte + 0x20 : byte;
}

/** What a secret stands as in a URL's path or query, and in a form. */
export function percentOf(value: string): string {
  const encode = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(value.toWellFormed()).replaceAll(/[!'()*]/g, encode);
}

/**
 * Each backslash of a form stands for as many as formats make of one, so two stand for all of a run. More would only be
 * more ways to divide the same run among them.
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

/** The digits of base64 that bytes alone decide where as many others stand in front of them. */
function base64At(bytes: Buffer, offset: number): string {
  const first = Math.ceil((8 * offset) / 6);
  const last = Math.floor((8 * (offset + bytes.length)) / 6);
  return Buffer.concat([Buffer.alloc(offset), bytes])
    .toString("base64")
    .slice(first, last);
}
