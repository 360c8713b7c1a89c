import { Automaton, type SearchedForm, START } from "./automaton.ts";
import { formsOf } from "./forms.ts";

/** A value to be replaced, and the text in its place. */
export interface RedactedValue {
  readonly value: string;
  readonly shown: string;
}

/** Maximum of the forms of one automaton, in bytes. Values beyond it get another automaton, which searches after it. */
const FORM_BYTES_MAX = 128 * 1024;

/**
 * Replaces values in texts and streams, in the exact forms of `formsOf`. Work and memory per byte do not depend on the
 * content. Does not find a value that was encrypted, compressed, split, or changed in any other way.
 */
export class Redactor {
  readonly #automata: readonly Automaton[];

  constructor(values: Iterable<RedactedValue>) {
    this.#automata = groupsOf(values).map((forms) => new Automaton(forms));
  }

  /** Size of its tables, in bytes. */
  get tableBytes(): number {
    return this.#automata.reduce((sum, { tableBytes }) => sum + tableBytes, 0);
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
    return new RedactedStream(this.#automata);
  }

  /** The same buffer where nothing was found. */
  #whole(bytes: Buffer): Buffer {
    return this.#automata.reduce((clean, automaton) => {
      const search = new StreamSearch(automaton);
      const begin = search.push(clean);
      return search.hasFound ? Buffer.concat([begin, search.end()]) : clean;
    }, bytes);
  }
}

/** Redacts a stream of bytes, chunk by chunk. */
export class RedactedStream {
  readonly #searches: readonly StreamSearch[];

  constructor(automata: readonly Automaton[]) {
    this.#searches = automata.map((automaton) => new StreamSearch(automaton));
  }

  /**
   * Returns the bytes that can be passed on. How many are held back depends on lengths alone, never on content, unless
   * a whole value is among the bytes: otherwise whoever reads the stream could learn how a value begins.
   */
  push(chunk: Buffer): Buffer {
    return this.#searches.reduce((bytes, search) => search.push(bytes), chunk);
  }

  /** Returns the bytes held back, redacted. */
  end(): Buffer {
    return this.#searches.reduce<Buffer>(
      (bytes, search) => Buffer.concat([search.push(bytes), search.end()]),
      Buffer.alloc(0),
    );
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

/** The search of one automaton in a stream. */
class StreamSearch {
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

  push(chunk: Buffer): Buffer {
    const { longest } = this.#automaton;
    const begin = this.#from + this.#held.length;
    this.#state = this.#automaton.search(chunk, this.#state, (end, form) => this.#add(begin + end, form));
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    return this.#release(bytes, Math.max(0, bytes.length - Math.max(0, longest - 1)));
  }

  end(): Buffer {
    return this.#release(this.#held, this.#held.length);
  }

  #add(end: number, { bytes, shown: ownShown }: SearchedForm): void {
    this.hasFound = true;
    let [start, shown, isShown] = [end - bytes.length, ownShown, false];
    for (let last = this.#regions.at(-1); last !== undefined && last.end > start; last = this.#regions.at(-1)) {
      this.#regions.pop();
      // Where both begin together, the form found later is the longer one.
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

/** The forms of all values, divided so that the table of each group has a bounded size. */
function groupsOf(values: Iterable<RedactedValue>): readonly (readonly SearchedForm[])[] {
  const groups: SearchedForm[][] = [];
  let size = Infinity;
  for (const { value, shown } of values) {
    const forms = formsOf(value).map((bytes): SearchedForm => ({ bytes, shown }));
    const own = forms.reduce((sum, { bytes }) => sum + bytes.length, 0);
    if (size + own > FORM_BYTES_MAX) {
      groups.push([]);
      size = 0;
    }
    groups.at(-1)?.push(...forms);
    size += own;
  }
  return groups;
}
