/** DER, as far as keys and signatures need it (X.690). */

export interface Element {
  readonly tag: number;
  readonly content: Uint8Array;
  /** With tag and length. */
  readonly whole: Uint8Array;
}

export const TAG = { integer: 2, bits: 3, bytes: 4, nothing: 5, oid: 6, sequence: 0x30 } as const;

/** Of no class of its own: code gets it, and nothing else would lead to the class, so that it is frozen. */
function derError(message: string): Error {
  return Object.assign(new Error(message), { name: "Asn1Error" });
}

/** Reads the element at the beginning of the bytes. */
export function readElement(bytes: Uint8Array): { element: Element; rest: Uint8Array } {
  const [tag = 0, first = 0] = bytes;
  let at = 2;
  let length = first;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw derError("a length of DER is invalid");
    length = 0;
    for (let index = 0; index < count; index++) length = length * 256 + (bytes[at++] ?? 0);
  }
  if (bytes.length < at + length) throw derError("DER ends too early");
  const whole = bytes.subarray(0, at + length);
  return { element: { tag, content: bytes.subarray(at, at + length), whole }, rest: bytes.subarray(at + length) };
}

/** The elements of a sequence. */
export function readAll(content: Uint8Array): Element[] {
  const elements: Element[] = [];
  for (let rest = content; rest.length > 0;) {
    const read = readElement(rest);
    elements.push(read.element);
    ({ rest } = read);
  }
  return elements;
}

/** The elements inside the single element in the bytes. */
export function readSequence(bytes: Uint8Array): Element[] {
  const { element, rest } = readElement(bytes);
  if (element.tag !== TAG.sequence || rest.length > 0) throw derError("DER of another form");
  return readAll(element.content);
}

export function contentOf(element: Element | undefined, tag: number): Uint8Array {
  if (element?.tag !== tag) throw derError("DER of another form");
  return element.content;
}

export function integerOf(element: Element | undefined): bigint {
  return bigOf(contentOf(element, TAG.integer));
}

/** Bits of a bit string of whole bytes. */
export function bitsOf(element: Element | undefined): Uint8Array {
  return contentOf(element, TAG.bits).subarray(1);
}

export function bigOf(bytes: Uint8Array): bigint {
  let hex = "0x0";
  for (const byte of bytes) hex += byte.toString(16).padStart(2, "0");
  return BigInt(hex);
}

/** Bytes of an integer, the highest first; `size`: with zeros before it. */
export function bytesOfBig(value: bigint, size?: number): Uint8Array<ArrayBuffer> {
  const hex = value.toString(16);
  const length = size ?? Math.max(1, (hex.length + 1) >>> 1);
  const digits = hex.padStart(2 * length, "0");
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at++) bytes[at] = Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

export function join(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

export function element(tag: number, ...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const content = join(...parts);
  const { length } = content;
  if (length < 0x80) return join(Uint8Array.of(tag, length), content);
  const size = bytesOfBig(BigInt(length));
  return join(Uint8Array.of(tag, 0x80 | size.length), size, content);
}

export function sequence(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return element(TAG.sequence, ...parts);
}

export function integer(value: bigint): Uint8Array<ArrayBuffer> {
  const bytes = bytesOfBig(value);
  return element(TAG.integer, (bytes[0] ?? 0) & 0x80 ? join(Uint8Array.of(0), bytes) : bytes);
}

export function bitString(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return element(TAG.bits, Uint8Array.of(0), bytes);
}

export function octets(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return element(TAG.bytes, bytes);
}

export const NOTHING = Uint8Array.of(TAG.nothing, 0);

/** An object identifier of its dotted form. */
export function oid(dotted: string): Uint8Array<ArrayBuffer> {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return element(TAG.oid, Uint8Array.from(bytes));
}

export function oidOf(found: Element | undefined): string {
  const [first = 0, ...rest] = contentOf(found, TAG.oid);
  const arcs = [Math.min(2, Math.floor(first / 40)), first < 80 ? first % 40 : first - 80];
  let arc = 0;
  for (const byte of rest) {
    arc = arc * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      arcs.push(arc);
      arc = 0;
    }
  }
  return arcs.join(".");
}
