/** A value that is made at its first use, such as one whose modules few users need. */
export class OnDemand<Value> {
  readonly #make: () => Promise<Value>;
  #made: Promise<Value> | null = null;

  constructor(make: () => Promise<Value>) {
    this.#make = make;
  }

  get(): Promise<Value> {
    return (this.#made ??= this.#make());
  }

  /** The value, if it was used. */
  get made(): Promise<Value> | null {
    return this.#made;
  }
}
