const SWEEP_MS = 20;

/** One clock for all deadlines: it ticks while there is something to watch. */
export class DeadlineTimer {
  readonly #look: () => boolean;
  #timer: NodeJS.Timeout | null = null;

  /** `look` ends what is overdue, and says whether anything is left. */
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
