import { describeInterface } from "./web-interface.ts";

/** Members that a pair-based interface has besides its own. */
export interface Pairs<T> {
  readonly [Symbol.iterator]: () => IteratorObject<[string, T], undefined>;
  readonly entries: () => IteratorObject<[string, T], undefined>;
  readonly keys: () => IteratorObject<string, undefined>;
  readonly values: () => IteratorObject<T, undefined>;
  readonly forEach: (callback: (value: T, name: string, pairs: object) => void, thisArg?: unknown) => void;
}

/** Defines the members of a pair-based interface. Its iterators see entries that are added during the iteration. */
export function definePairs<T>(
  target: { readonly prototype: object },
  name: string,
  read: (self: object) => readonly (readonly [string, T])[],
): void {
  class PairIterator<R> extends Iterator<R, undefined> {
    readonly #pairs: object;
    readonly #select: (name: string, value: T) => R;
    #index = 0;

    static {
      describeInterface(this, `${name} Iterator`);
      // Tools must not construct an iterator.
      Reflect.deleteProperty(this.prototype, "constructor");
      // `harden` cannot reach this prototype, as no property of a global leads to it.
      Object.freeze(this.prototype.next);
      Object.freeze(this.prototype);
    }

    constructor(pairs: object, select: (name: string, value: T) => R) {
      super();
      // Throws for an object of another class.
      read(pairs);
      this.#pairs = pairs;
      this.#select = select;
    }

    override next(): IteratorResult<R, undefined> {
      const entry = read(this.#pairs)[this.#index];
      if (entry === undefined) return { value: undefined, done: true };
      this.#index += 1;
      return { value: this.#select(entry[0], entry[1]), done: false };
    }
  }
  const members = {
    entries(this: object) {
      return new PairIterator(this, (key, value): [string, T] => [key, value]);
    },
    keys(this: object) {
      return new PairIterator(this, (key) => key);
    },
    values(this: object) {
      return new PairIterator(this, (_key, value) => value);
    },
    forEach(this: object, callback: unknown, ...[thisArg]: [thisArg?: unknown]): void {
      if (typeof callback !== "function") throw new TypeError("The callback of forEach has to be a function");
      for (let index = 0; index < read(this).length; index += 1) {
        const entry = read(this)[index];
        if (entry !== undefined) Reflect.apply(callback, thisArg, [entry[1], entry[0], this]);
      }
    },
  };
  const descriptors = Object.getOwnPropertyDescriptors(members);
  Object.defineProperties(target.prototype, descriptors);
  // The standard defines one function under both names.
  Object.defineProperty(target.prototype, Symbol.iterator, { ...descriptors.entries, enumerable: false });
}
