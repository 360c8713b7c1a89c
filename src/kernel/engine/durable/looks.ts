/**
 * Looks at the store, one at a time: one that is asked for meanwhile comes after it, and else the next one comes by the
 * clock. Stops for good.
 */
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

  /** Resolves when the look has ended that is under way. */
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
