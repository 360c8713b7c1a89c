import { foldByte, type EncodedForm, formsOf } from "./forms.ts";
import { isBreak, isSpecial, decodingsAt } from "./decodings.ts";

/** The text that replaces a secret wherever a tool can see it. */
function placeholderOf(name: string): string {
  return `glovebox.secret.${name}.`;
}

/**
 * Replaces secrets by placeholders. Finds them plain, in Base64 and in hex, including escapes of JSON, HTML and URLs,
 * also nested. Does not find secrets that were encrypted, compressed, split or converted to upper case: a server that
 * stores what it receives and returns parts of it cannot be stopped here.
 */
export class Redactor {
  readonly #haystack: SecretIndex;

  /** `show` returns the text that replaces a secret. */
  constructor(
    secrets: Iterable<{ readonly name: string; readonly value: string }>,
    show: (name: string) => string = placeholderOf,
  ) {
    const needles = [...secrets].flatMap(({ name, value }) =>
      formsOf(value).map((form) => new SecretForm(form, show(name))),
    );
    this.#haystack = new SecretIndex(needles);
  }

  /** Redacts a text. Never throws. */
  text(text: string): string {
    const bytes = Buffer.from(text).toString("latin1");
    const clean = this.#haystack.replace(bytes);
    return clean === bytes ? text : Buffer.from(clean, "latin1").toString();
  }

  /** Redacts bytes held one per character, such as headers. Never throws. */
  latin1(bytes: string): string {
    return this.#haystack.replace(bytes);
  }

  /** Redacts a stream of bytes. */
  stream(): RedactedStream {
    return new RedactedStream(this.#haystack);
  }
}

/** Redacts a stream, and holds back only bytes that may begin a secret. */
export class RedactedStream {
  readonly #haystack: SecretIndex;
  #held = "";

  constructor(haystack: SecretIndex) {
    this.#haystack = haystack;
  }

  /** Returns the bytes that can be passed on. */
  push(chunk: Buffer): Buffer {
    if (this.#haystack.isEmpty) return chunk;
    const { clean, held } = this.#haystack.split(this.#held + chunk.toString("latin1"));
    this.#held = held;
    return Buffer.from(clean, "latin1");
  }

  /** Returns the bytes held back, redacted: nothing follows that could complete a secret. */
  end(): Buffer {
    const rest = this.#haystack.replace(this.#held);
    this.#held = "";
    return Buffer.from(rest, "latin1");
  }
}

const NONE: readonly SecretForm[] = [];

/**
 * Searches for all secrets at once. The first two bytes at a position select the candidates, so most positions cost one
 * table lookup. There is no compiled pattern that could become too large.
 */
class SecretIndex {
  readonly isEmpty: boolean;
  readonly #byFirst: readonly (readonly SecretForm[])[];
  readonly #byPair = new Map<number, SecretForm[]>();
  /** By two bytes: 0 where no secret begins with them, 1 where one does, 2 where they have to be decoded first. */
  readonly #begins = new Uint8Array(0x10000);

  constructor(needles: readonly SecretForm[]) {
    this.isEmpty = needles.length === 0;
    const bytes = Array.from({ length: 256 }, (_, byte) => byte);
    this.#byFirst = bytes.map((byte) => needles.filter((needle) => needle.isAt(0, byte)));
    for (const first of bytes) {
      if (isSpecial(first)) this.#begins.fill(this.isEmpty ? 0 : 2, first << 8, (first + 1) << 8);
      else this.#index(first, bytes);
    }
  }

  replace(text: string): string {
    return this.#scan(text, true).clean;
  }

  /** Replaces complete secrets, and holds back the end of the text where more could complete one. */
  split(text: string): { readonly clean: string; readonly held: string } {
    return this.#scan(text, false);
  }

  #index(first: number, bytes: readonly number[]): void {
    const needles = this.#byFirst[first] ?? NONE;
    if (needles.length === 0) return;
    for (const second of bytes) {
      const pair = (first << 8) | second;
      const both = needles.filter((needle) => needle.isAt(1, second));
      if (both.length > 0) this.#byPair.set(pair, both);
      this.#begins[pair] = isSpecial(second) ? 2 : both.length > 0 ? 1 : 0;
    }
  }

  #scan(text: string, isWhole: boolean): { readonly clean: string; readonly held: string } {
    let clean = "";
    let from = 0;
    let pair = text.charCodeAt(0) & 0xff;
    for (let at = 0; at < text.length; at++) {
      pair = ((pair & 0xff) << 8) | (at + 1 < text.length ? text.charCodeAt(at + 1) & 0xff : 0);
      if (this.#begins[pair] === 0) continue;
      const { end, shown, isUnfinished } = this.#matchAt(text, at, pair);
      if (isUnfinished && !isWhole) return { clean: clean + text.slice(from, at), held: text.slice(at) };
      if (end < 0) continue;
      clean += text.slice(from, at) + shown;
      from = end;
      pair = text.charCodeAt(end) & 0xff;
      at = end - 1;
    }
    return { clean: clean + text.slice(from), held: "" };
  }

  /** The longest match, because one secret may be the beginning of another. */
  #matchAt(text: string, at: number, pair: number): FormMatch & { readonly shown: string } {
    const { needles, isUnfinished: isBegun } = this.#mayBegin(text, at, pair);
    const longest = { end: -1, shown: "", isUnfinished: isBegun };
    for (const needle of needles) {
      const { end, isUnfinished } = needle.match(text, at);
      longest.isUnfinished ||= isUnfinished;
      if (end <= longest.end) continue;
      longest.end = end;
      longest.shown = needle.shown;
    }
    return longest;
  }

  #mayBegin(text: string, at: number, pair: number): { needles: Iterable<SecretForm>; isUnfinished: boolean } {
    const first = pair >> 8;
    if (this.#begins[pair] === 1) return { needles: this.#byPair.get(pair) ?? NONE, isUnfinished: false };
    if (!isSpecial(first)) return { needles: this.#byFirst[first] ?? NONE, isUnfinished: false };
    const { found, isUnfinished } = decodingsAt(text, at);
    const firsts = new Set(found.map(({ bytes }) => bytes[0] ?? -1));
    return { needles: new Set([...firsts].flatMap((byte) => this.#byFirst[byte] ?? NONE)), isUnfinished };
  }
}

/** Result of matching a form at a position. */
interface FormMatch {
  /** End of the longest match; -1 without a match. */
  readonly end: number;
  /** Whether more text could produce a match, or a longer one. */
  readonly isUnfinished: boolean;
}

const LF = 10;
/** Maximum line breaks, or zeros of UTF-16, skipped between two digits or characters. */
const SKIPPED_MAX = 3;

/** A form of a secret, and the text that replaces it. */
class SecretForm {
  readonly shown: string;
  readonly #form: EncodedForm;

  constructor(form: EncodedForm, shown: string) {
    this.#form = form;
    this.shown = shown;
  }

  get length(): number {
    return this.#form.bytes.length;
  }

  /** Whether a byte matches at a position of the form. */
  isAt(place: number, byte: number): boolean {
    return foldByte(this.#form.alphabet, byte) === this.#form.bytes[place];
  }

  /** Matches the form at a position of a text that holds one byte per character. */
  match(text: string, start: number): FormMatch {
    let end = -1;
    let isUnfinished = false;
    const seen = new Set<number>();
    // Alternatives still to try: position in the text, position in the form, number of bytes skipped right before.
    const open: [at: number, place: number, skipped: number][] = [[start, 0, 0]];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      let [at, place] = next;
      while (place < this.length && at < text.length && this.#isPlain(text.charCodeAt(at), place)) {
        at++;
        place++;
      }
      const skipped = at === next[0] ? next[2] : 0;
      if (place === this.length) end = Math.max(end, at);
      else if (at >= text.length) isUnfinished = true;
      else if (isSpecial(text.charCodeAt(at))) {
        const key = ((at - start) * (this.length + 1) + place) * (SKIPPED_MAX + 1) + skipped;
        if (seen.has(key)) continue;
        seen.add(key);
        const readings = decodingsAt(text, at);
        isUnfinished ||= readings.isUnfinished;
        for (const reading of readings.found) {
          if (this.#holds(reading.bytes, place)) open.push([reading.end, place + reading.bytes.length, 0]);
          if (place > 0 && skipped < SKIPPED_MAX && this.#isSkipped(reading.bytes, place)) {
            open.push([reading.end, place, skipped + 1]);
          }
        }
      }
    }
    return { end, isUnfinished };
  }

  #isPlain(byte: number, place: number): boolean {
    return !isSpecial(byte) && this.isAt(place, byte);
  }

  #holds(bytes: readonly number[], place: number): boolean {
    return bytes.length > 0 && bytes.every((byte, nth) => this.isAt(place + nth, byte));
  }

  /** Bytes to skip: line breaks between wrapped digits, the CR of CRLF, and the zeros of UTF-16. */
  #isSkipped([byte = -1, ...more]: readonly number[], place: number): boolean {
    if (more.length > 0) return false;
    if (byte === 0) return true;
    if (this.#form.alphabet !== "bytes") return isBreak(byte);
    return byte === 13 && this.#form.bytes[place] === LF;
  }
}
