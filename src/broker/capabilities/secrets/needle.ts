import { type Form, foldByte } from "./forms.ts";
import { isBreak, isSpecial, readingsAt } from "./readings.ts";

/** How a text goes on from a place. */
export interface Match {
  /** Where the longest match ends; -1 where there is none. */
  readonly end: number;
  /** Whether more text could make a match, or a longer one. */
  readonly isUnfinished: boolean;
}

const LF = 10;
/** Line breaks, or the zeros of UTF-16, between two digits or characters: more of them part nothing that was together. */
const SKIPPED_MAX = 3;

/** A form of a secret that is looked for, and what is shown in its place. */
export class Needle {
  readonly shown: string;
  readonly #form: Form;

  constructor(form: Form, shown: string) {
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
  match(text: string, start: number): Match {
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
        const readings = readingsAt(text, at);
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
