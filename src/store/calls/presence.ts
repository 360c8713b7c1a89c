/** How often a process says that it is there, while it has calls. */
const SEEN_EVERY_MS = 2_000;

/** Says of a holder that it is there, as long as it has begun what has not ended. */
export class Presence {
  readonly #see: () => Promise<void>;
  #begun = 0;
  #seeing: NodeJS.Timeout | undefined;

  constructor(see: () => Promise<void>) {
    this.#see = see;
  }

  /** Whether it has ever begun anything. */
  get isKnown(): boolean {
    return this.#seeing !== undefined;
  }

  begin(): void {
    this.#begun++;
    this.#seeing ??= setInterval(() => void this.#beat(), SEEN_EVERY_MS).unref();
  }

  end(): void {
    this.#begun--;
  }

  close(): void {
    clearInterval(this.#seeing);
  }

  async #beat(): Promise<void> {
    if (this.#begun === 0) return;
    try {
      await this.#see();
    } catch {
      // Whoever uses the store next is told; the next time may go well.
    }
  }
}
