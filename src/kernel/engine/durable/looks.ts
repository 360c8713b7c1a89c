/** Looks at the store, one at a time: at a request, after the present one, or by the clock. A stop is final. */
export class Looks {
  readonly #look: () => Promise<void>;
  readonly #pauseMs: () => number;
  #timer: NodeJS.Timeout | undefined;
  #isAsked = false;
  #isStopped = false;
  #looking: Promise<void> | null = null;

  /** `look`: must not reject. `pauseMs`: time until the next look, after one. */
  constructor(look: () => Promise<void>, pauseMs: () => number) {
    this.#look = look;
    this.#pauseMs = pauseMs;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  ask(): void {
    if (this.#isStopped) return;
    this.#isAsked = true;
    this.#looking ??= this.#run();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Resolves when the present look has ended. */
  async ended(): Promise<void> {
    await this.#looking;
  }

  async #run(): Promise<void> {
    while (this.#isAsked && !this.#isStopped) {
      this.#isAsked = false;
      await this.#look();
    }
    this.#looking = null;
    clearTimeout(this.#timer);
    if (!this.#isStopped) this.#timer = setTimeout(() => this.ask(), this.#pauseMs()).unref();
  }
}
