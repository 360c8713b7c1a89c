/** A form to search for, and the text that replaces it. */
export interface SearchedForm {
  readonly bytes: Buffer;
  readonly shown: string;
}

/** Called for the longest form that ends before `end`, a position in the bytes searched. */
type OnMatch = (end: number, form: SearchedForm) => void;

/** The state before the first byte. */
export const START = 0;

/**
 * Searches for all forms at once (Aho-Corasick, as one table): a byte costs one look into the table, whatever the bytes
 * are and however many forms there are.
 */
export class Automaton {
  /** Length of the longest form, in bytes. */
  readonly longest: number;
  /** Size of the table, in bytes. */
  readonly tableBytes: number;
  /** Class of each byte. Bytes that occur in no form share the class 0, so that rows of the table stay short. */
  readonly #classes = new Uint16Array(256);
  /** Next state by state and class. States are positions of their rows; a state in which a form ends is inverted. */
  readonly #next: Int32Array;
  /** The longest form that ends in a state, by the number of its row. */
  readonly #ends: readonly (SearchedForm | null)[];
  readonly #width: number;

  constructor(forms: readonly SearchedForm[]) {
    const sorted = forms.toSorted((one, other) => Buffer.compare(one.bytes, other.bytes));
    this.longest = Math.max(0, ...sorted.map(({ bytes }) => bytes.length));
    let width = 1;
    for (const { bytes } of sorted) for (const byte of bytes) this.#classes[byte] ||= width++;
    this.#width = width;
    this.#next = new Int32Array(width * countStates(sorted));
    this.tableBytes = this.#next.byteLength;
    const ends = this.#addForms(sorted);
    this.#linkFailures(ends);
    this.#ends = ends;
    this.#markEnds(ends);
  }

  /** Searches bytes that follow those that led to `state`, and returns the state after them. */
  search(bytes: Buffer, state: number, onMatch: OnMatch): number {
    const next = this.#next;
    const classes = this.#classes;
    let at = state;
    for (let place = 0; place < bytes.length; place++) {
      at = next[at + (classes[bytes[place] as number] as number)] as number;
      if (at >= 0) continue;
      at = ~at;
      onMatch(place + 1, this.#ends[at / this.#width] as SearchedForm);
    }
    return at;
  }

  /** Makes the trie of the forms. Returns the form that ends in each state. */
  #addForms(forms: readonly SearchedForm[]): (SearchedForm | null)[] {
    const next = this.#next;
    const ends = Array.from({ length: next.length / this.#width }, (): SearchedForm | null => null);
    let last = START;
    for (const form of forms) {
      let at = START;
      for (const byte of form.bytes) {
        const edge = at + (this.#classes[byte] ?? 0);
        at = next[edge] || (next[edge] = last += this.#width);
      }
      ends[at / this.#width] ??= form;
    }
    return ends;
  }

  /** Fills the gaps of each row from the state of the longest proper suffix that also begins a form. */
  #linkFailures(ends: (SearchedForm | null)[]): void {
    const next = this.#next;
    const width = this.#width;
    const suffixes = new Int32Array(ends.length);
    // Breadth first: the suffix of a state is nearer to the root, so its row is complete.
    const open = [...next.subarray(0, width)].filter((state) => state !== START);
    for (let nth = 0; nth < open.length; nth++) {
      const at = open[nth] ?? START;
      const suffix = suffixes[at / width] ?? START;
      ends[at / width] ??= ends[suffix / width] ?? null;
      for (let nthClass = 1; nthClass < width; nthClass++) {
        const state = next[at + nthClass] ?? START;
        const ofSuffix = next[suffix + nthClass] ?? START;
        if (state === START) next[at + nthClass] = ofSuffix;
        else {
          suffixes[state / width] = ofSuffix;
          open.push(state);
        }
      }
    }
  }

  #markEnds(ends: readonly (SearchedForm | null)[]): void {
    const next = this.#next;
    for (let edge = 0; edge < next.length; edge++) {
      const state = next[edge] ?? START;
      if ((ends[state / this.#width] ?? null) !== null) next[edge] = ~state;
    }
  }
}

/** Number of states of the trie of sorted forms: each adds those beyond what it shares with the one before it. */
function countStates(sorted: readonly SearchedForm[]): number {
  let states = 1;
  let before: Buffer = Buffer.alloc(0);
  for (const { bytes } of sorted) {
    let same = 0;
    while (same < bytes.length && bytes[same] === before[same]) same++;
    states += bytes.length - same;
    before = bytes;
  }
  return states;
}
