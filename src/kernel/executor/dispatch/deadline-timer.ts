const SWEEP_MS = 20;

/** One timer for all deadlines; it runs while there are any. */
export class DeadlineTimer {
  readonly #look: () => boolean;
  #timer: NodeJS.Timeout | null = null;

  /** `look` ends overdue work, and returns whether any deadlines remain. */
  constructor(look: () => boolean) {
    this.#look = look;
  }

  keepOn(): void {
    this.#timer ??= setInterval(() => {
      if (!this.#look()) this.stop();
    }, SWEEP_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
