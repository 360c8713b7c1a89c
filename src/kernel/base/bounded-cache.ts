/** A cache bounded by number of entries and total weight. Evicts the least recently used entries first. */
export class BoundedCache<Value> {
  readonly #entriesMax: number;
  readonly #weightMax: number;
  readonly #weigh: (value: Value) => number;
  /** In order of use, most recent last. */
  readonly #values = new Map<string, Value>();
  #weight = 0;

  /** By default, only the number of entries is bounded. */
  constructor(entriesMax: number, weightMax = Infinity, weigh: (value: Value) => number = () => 0) {
    this.#entriesMax = entriesMax;
    this.#weightMax = weightMax;
    this.#weigh = weigh;
  }

  get(key: string): Value | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.delete(key);
    this.#values.set(key, value);
    this.#weight += this.#weigh(value);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= this.#entriesMax && this.#weight <= this.#weightMax) break;
      this.delete(oldest);
    }
  }

  /** The cached value, or else the result of `make`, which is cached. */
  getOrMake(key: string, make: () => Value): Value {
    const known = this.get(key);
    if (known !== undefined) return known;
    const value = make();
    this.set(key, value);
    return value;
  }

  keys(): Iterable<string> {
    return this.#values.keys();
  }

  clear(): void {
    this.#values.clear();
    this.#weight = 0;
  }

  delete(key: string): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#weight -= this.#weigh(value);
  }
}
