/** A form to search for, and the text that replaces it. */
export interface SearchedForm {
  readonly bytes: Buffer;
  readonly shown: string;
}

/** Called for the longest form that ends before `end`, a position in the bytes searched. */
type OnMatch = (end: number, form: SearchedForm) => void;

/** The state before the first byte. */
export const START = 0;
const NONE = -1;
const BYTES_OF_STATE = 8;

/**
 * Searches for all forms at once (Aho-Corasick): a byte costs two steps on average at most, for any bytes and any
 * number of forms. Forms are long, and only their beginnings are similar, so the trie is kept as chains: the first
 * child of a state is the state after it. A table of all transitions would need a hundred times the memory, and its
 * time to build.
 */
export class Automaton {
  /** Length of the longest form, in bytes. */
  readonly longest: number;
  /** Size of its tables, in bytes. */
  readonly tableBytes: number;
  /** State after each first byte. */
  readonly #first = new Int32Array(256);
  /** The byte that leads from a state to the state after it; `NONE` if that is not a child of it. */
  readonly #chained: Int16Array;
  /** Further children of a state, by `state * 256 + byte`, and the states that have any. */
  readonly #branches = new Map<number, number>();
  readonly #isBranched: Uint8Array;
  /** State of the longest proper suffix that also begins a form. */
  readonly #suffixes: Int32Array;
  /** The longest form that ends in a state, and the states that have one. */
  readonly #ends = new Map<number, SearchedForm>();
  readonly #isEnd: Uint8Array;

  constructor(forms: readonly SearchedForm[]) {
    const sorted = forms.toSorted((one, other) => Buffer.compare(one.bytes, other.bytes));
    this.longest = sorted.reduce((longest, { bytes }) => Math.max(longest, bytes.length), 0);
    const states = countStates(sorted);
    this.#chained = new Int16Array(states).fill(NONE);
    this.#isBranched = new Uint8Array(states);
    this.#suffixes = new Int32Array(states);
    this.#isEnd = new Uint8Array(states);
    this.tableBytes = states * BYTES_OF_STATE;
    this.#addForms(sorted);
    this.#linkSuffixes(sorted);
  }

  /** Searches bytes that follow those that led to `state`, and returns the state after them. */
  search(bytes: Buffer, state: number, onMatch: OnMatch): number {
    const isEnd = this.#isEnd;
    const first = this.#first;
    let at = state;
    for (let place = 0; place < bytes.length; place++) {
      const byte = bytes[place] as number;
      at = at === START ? (first[byte] as number) : this.#next(at, byte);
      if (isEnd[at] === 0) continue;
      const form = this.#ends.get(at);
      if (form !== undefined) onMatch(place + 1, form);
    }
    return at;
  }

  /** State after a byte. Each suffix tried is shorter, and only bytes make states longer: hence two steps on average. */
  #next(state: number, byte: number): number {
    for (let at = state; at !== START; at = this.#suffixes[at] as number) {
      const child = this.#childOf(at, byte);
      if (child !== NONE) return child;
    }
    return this.#first[byte] as number;
  }

  #childOf(state: number, byte: number): number {
    if (this.#chained[state] === byte) return state + 1;
    return this.#isBranched[state] === 0 ? NONE : (this.#branches.get(state * 256 + byte) ?? NONE);
  }

  /** Makes the trie of the forms. */
  #addForms(forms: readonly SearchedForm[]): void {
    let last = START;
    for (const form of forms) {
      let at = START;
      for (const byte of form.bytes) {
        const known = this.#step(at, byte);
        if (known === NONE) this.#addChild(at, byte, ++last);
        at = known === NONE ? last : known;
      }
      this.#addEnd(at, form);
    }
  }

  #addChild(state: number, byte: number, child: number): void {
    if (state === START) this.#first[byte] = child;
    else if (child === state + 1) this.#chained[state] = byte;
    else {
      this.#branches.set(state * 256 + byte, child);
      this.#isBranched[state] = 1;
    }
  }

  /** Links each state, all of one depth before the next: a suffix is nearer to the start, so it is linked already. */
  #linkSuffixes(forms: readonly SearchedForm[]): void {
    const states = forms.map(() => START);
    for (let depth = 0; depth < this.longest; depth++) {
      for (const [nth, { bytes }] of forms.entries()) {
        const byte = bytes[depth];
        const parent = states[nth];
        if (byte === undefined || parent === undefined) continue;
        const state = this.#step(parent, byte);
        const suffix = parent === START ? START : this.#next(this.#suffixes[parent] ?? START, byte);
        const shorter = this.#ends.get(suffix);
        if (shorter !== undefined) this.#addEnd(state, shorter);
        this.#suffixes[state] = suffix;
        states[nth] = state;
      }
    }
  }

  /** The longest form is added first. */
  #addEnd(state: number, form: SearchedForm): void {
    if (this.#isEnd[state] === 1) return;
    this.#isEnd[state] = 1;
    this.#ends.set(state, form);
  }

  /** State after a byte of a form. */
  #step(state: number, byte: number): number {
    return state === START ? (this.#first[byte] ?? START) || NONE : this.#childOf(state, byte);
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
