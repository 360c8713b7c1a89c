import { Automaton, type SearchedForm, START } from "./automaton.ts";
import { formsOf } from "./forms.ts";

/** A value to be replaced, and the text in its place. */
export interface RedactedValue {
  readonly value: string;
  readonly shown: string;
}

/**
 * Replaces values in texts and streams, in the exact forms of `formsOf`. Work and memory per byte are bounded for any
 * content. Misses a value that was encrypted, compressed, split, or changed in any other way.
 */
export class Redactor {
  readonly #automaton: Automaton;

  constructor(values: readonly RedactedValue[]) {
    this.#automaton = new Automaton(
      values.flatMap(({ value, shown }) => formsOf(value).map((bytes) => ({ bytes, shown }))),
    );
  }

  /** Size of its tables, in bytes. */
  get tableBytes(): number {
    return this.#automaton.tableBytes;
  }

  /** Redacts a text. Never throws. */
  text(text: string): string {
    const bytes = Buffer.from(text);
    const clean = this.#whole(bytes);
    return clean === bytes ? text : clean.toString();
  }

  /** Redacts bytes held one per character, such as headers. Never throws. */
  latin1(bytes: string): string {
    return this.#whole(Buffer.from(bytes, "latin1")).toString("latin1");
  }

  /** Redacts a stream of bytes. */
  stream(): RedactedStream {
    return new RedactedStream(this.#automaton);
  }

  /** Returns the same buffer if nothing was found. */
  #whole(bytes: Buffer): Buffer {
    const stream = this.stream();
    const begin = stream.push(bytes);
    return stream.hasFound ? Buffer.concat([begin, stream.end()]) : bytes;
  }
}

/** Bytes of a stream that are replaced by one text. Positions count from the beginning of the stream. */
interface Region {
  readonly start: number;
  readonly end: number;
  readonly shown: string;
  /** Whether its text was already passed on, and only the rest of its bytes is still to be dropped. */
  readonly isShown: boolean;
}

/** Redacts a stream of bytes, chunk by chunk. */
export class RedactedStream {
  hasFound = false;
  readonly #automaton: Automaton;
  #state = START;
  /** The last bytes of the stream: a form that is still incomplete cannot begin before them. */
  #held: Buffer = Buffer.alloc(0);
  /** Position of the first byte held. */
  #from = 0;
  /** Found regions with bytes that are held, in order. Forms that overlap are one region. */
  #regions: Region[] = [];

  constructor(automaton: Automaton) {
    this.#automaton = automaton;
  }

  /**
   * Returns the bytes that can be passed on. The number of retained bytes depends on lengths alone, never on content,
   * unless a whole value is among the bytes: otherwise a reader of the stream could learn the beginning of a value.
   */
  push(chunk: Buffer): Buffer {
    const { longest } = this.#automaton;
    if (longest === 0) return chunk;
    const begin = this.#from + this.#held.length;
    this.#state = this.#automaton.search(chunk, this.#state, (end, form) => this.#add(begin + end, form));
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    return this.#release(bytes, Math.max(0, bytes.length - Math.max(0, longest - 1)));
  }

  /** Returns the bytes held back, redacted. */
  end(): Buffer {
    return this.#release(this.#held, this.#held.length);
  }

  #add(end: number, { bytes, shown: ownShown }: SearchedForm): void {
    this.hasFound = true;
    let [start, shown, isShown] = [end - bytes.length, ownShown, false];
    for (let last = this.#regions.at(-1); last !== undefined && last.end > start; last = this.#regions.at(-1)) {
      this.#regions.pop();
      // If both begin together, the form found later is the longer one.
      if (last.start < start) [start, shown, isShown] = [last.start, last.shown, last.isShown];
    }
    this.#regions.push({ start, end, shown, isShown });
  }

  /** Passes on a number of bytes, and keeps the rest. */
  #release(bytes: Buffer, count: number): Buffer {
    const from = this.#from;
    const until = from + count;
    // A copy: a view would keep the whole chunk in memory.
    this.#held = Buffer.from(bytes.subarray(count));
    this.#from = until;
    if (this.#regions.length === 0) return bytes.subarray(0, count);
    const parts: Buffer[] = [];
    const left: Region[] = [];
    let at = from;
    for (const region of this.#regions) {
      if (region.start >= until) left.push(region);
      else {
        if (!region.isShown) parts.push(bytes.subarray(at - from, region.start - from), Buffer.from(region.shown));
        if (region.end > until) left.push({ ...region, isShown: true });
        at = region.end;
      }
    }
    this.#regions = left;
    if (at < until) parts.push(bytes.subarray(at - from, until - from));
    return Buffer.concat(parts);
  }
}
