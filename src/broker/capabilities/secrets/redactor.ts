import { foldByte, type EncodedForm, formsOf } from "./forms.ts";
import { isBreak, isSpecial, decodingsAt } from "./decodings.ts";

/** The text that stands for a secret wherever a tool can see it. */
function placeholderOf(name: string): string {
  return `glovebox.secret.${name}.`;
}

/**
 * Puts placeholders in the place of secrets. It knows them as they are and in base64 and hex, with what JSON, HTML and
 * URLs make of their characters, also again and again. It does not know what was encrypted, compressed, cut to pieces, or
 * written in upper case: a server that stores what it was sent, and gives pieces of it, cannot be kept from that here.
 */
export class Redactor {
  readonly #haystack: SecretIndex;

  /** `show` says what stands in the place of a secret. */
  constructor(
    secrets: Iterable<{ readonly name: string; readonly value: string }>,
    show: (name: string) => string = placeholderOf,
  ) {
    const needles = [...secrets].flatMap(({ name, value }) =>
      formsOf(value).map((form) => new SecretForm(form, show(name))),
    );
    this.#haystack = new SecretIndex(needles);
  }

  /** Of a text for people: messages, logs. Never throws. */
  text(text: string): string {
    const bytes = Buffer.from(text).toString("latin1");
    const clean = this.#haystack.replace(bytes);
    return clean === bytes ? text : Buffer.from(clean, "latin1").toString();
  }

  /** Of bytes that are written as a string, a character each: headers. Never throws. */
  latin1(bytes: string): string {
    return this.#haystack.replace(bytes);
  }

  /** Of bytes that come piece by piece. */
  stream(): RedactedStream {
    return new RedactedStream(this.#haystack);
  }
}

/** Redacts what comes piece by piece, and holds back only what may be the beginning of a secret. */
export class RedactedStream {
  readonly #haystack: SecretIndex;
  #held = "";

  constructor(haystack: SecretIndex) {
    this.#haystack = haystack;
  }

  /** What can be given on by now. */
  push(chunk: Buffer): Buffer {
    if (this.#haystack.isEmpty) return chunk;
    const { clean, held } = this.#haystack.split(this.#held + chunk.toString("latin1"));
    this.#held = held;
    return Buffer.from(clean, "latin1");
  }

  /** What was held back: no more comes that could make it a secret, or a longer one. */
  end(): Buffer {
    const rest = this.#haystack.replace(this.#held);
    this.#held = "";
    return Buffer.from(rest, "latin1");
  }
}

const NONE: readonly SecretForm[] = [];

/**
 * Looks for all secrets at once. Which of them may begin at a place is told by its first two bytes, so that most places
 * of a text cost one look into a table. Nothing is compiled, so there is nothing that could be too large for it.
 */
class SecretIndex {
  readonly isEmpty: boolean;
  readonly #byFirst: readonly (readonly SecretForm[])[];
  readonly #byPair = new Map<number, SecretForm[]>();
  /** By two bytes: 0 where nothing begins with them, 1 where something does, 2 where they have to be read. */
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

  /** Replaces what is whole, and keeps back the end where more could make a secret of it. */
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

  /** The longest match, for one secret may begin as another does. */
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

/** How a text goes on from a place. */
interface FormMatch {
  /** End of the longest match; -1 without a match. */
  readonly end: number;
  /** Whether more text could make a match, or a longer one. */
  readonly isUnfinished: boolean;
}

const LF = 10;
/** Line breaks, or the zeros of UTF-16, between two digits or characters: more of them part nothing that was together. */
const SKIPPED_MAX = 3;

/** A form of a secret that is looked for, and what is shown in its place. */
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

  /** Whether a byte can be the one at a place of it. */
  isAt(place: number, byte: number): boolean {
    return foldByte(this.#form.alphabet, byte) === this.#form.bytes[place];
  }

  /** Looks at a place of bytes that are written as a string, a character each. */
  match(text: string, start: number): FormMatch {
    let end = -1;
    let isUnfinished = false;
    const seen = new Set<number>();
    // What is left to be tried: a place of the text, one of the form, and how many bytes were skipped right before.
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

  /** Digits are wrapped into lines; lines of a text may end in two signs; and in UTF-16 there are zeros in between. */
  #isSkipped([byte = -1, ...more]: readonly number[], place: number): boolean {
    if (more.length > 0) return false;
    if (byte === 0) return true;
    if (this.#form.alphabet !== "bytes") return isBreak(byte);
    return byte === 13 && this.#form.bytes[place] === LF;
  }
}
