/** Values that wait for the tool to take them, and their JSON's length together: the oldest go first. */
const VALUES_MAX = 1_000;
const LENGTH_MAX = 1024 * 1024;

/** What a handler tells while it works, for one call of it, and how it ends. */
export class Progress {
  #values: { readonly value: unknown; readonly length: number }[] = [];
  #length = 0;
  #missed = 0;
  #isOver = false;
  #wake: () => void = () => undefined;
  readonly #result: Promise<unknown>;

  /** `work` is called at once. */
  constructor(work: (tell: (value: unknown) => void) => unknown) {
    this.#result = new Promise((resolve) => resolve(work((value) => this.#tell(value))));
    const over = () => {
      this.#isOver = true;
      this.#wake();
    };
    this.#result.then(over, over);
  }

  /** What was told since it was asked the last time, and how much before that found no room; waits where it is nothing. */
  async next(): Promise<{ readonly values: readonly unknown[]; readonly missed: number; readonly more: boolean }> {
    if (this.#values.length === 0 && !this.#isOver) await new Promise<void>((resolve) => (this.#wake = resolve));
    const values = this.#values.map(({ value }) => value);
    const missed = this.#missed;
    this.#values = [];
    this.#length = 0;
    this.#missed = 0;
    return { values, missed, more: !this.#isOver };
  }

  /** What the handler answered; rejects where it failed. */
  get result(): Promise<unknown> {
    return this.#result;
  }

  #tell(value: unknown): void {
    if (this.#isOver) return;
    const json = JSON.stringify(value);
    if (typeof json !== "string") throw new TypeError("progress is a JSON value");
    if (json.length > LENGTH_MAX)
      throw new RangeError(`a value of progress has at most ${LENGTH_MAX} characters of JSON`);
    // Copied: what the handler does with its object afterwards is not what it told.
    this.#values.push({ value: JSON.parse(json) as unknown, length: json.length });
    this.#length += json.length;
    while (this.#values.length > VALUES_MAX || this.#length > LENGTH_MAX) {
      this.#length -= this.#values.shift()?.length ?? 0;
      this.#missed++;
    }
    this.#wake();
  }
}
