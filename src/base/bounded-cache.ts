/** What is expensive to make again, within bounds: of more, what was asked for longest ago is forgotten. */
export class BoundedCache<Value> {
  readonly #entriesMax: number;
  readonly #weightMax: number;
  readonly #weigh: (value: Value) => number;
  /** What was asked for last is at the end. */
  readonly #values = new Map<string, Value>();
  #weight = 0;

  /** Where nothing is said of weight, only their number counts. */
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

  /** What there is, or else what is made for it now. */
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
