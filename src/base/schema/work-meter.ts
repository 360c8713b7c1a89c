/** Thrown when the check of one value exceeds its steps. */
export class WorkExceededError extends Error {
  override readonly name = "WorkExceededError";
}

/**
 * Counts the work of one check in steps, so that neither a hostile schema (nested references that double at every
 * level) nor a hostile value (a string made for a pattern) can block the host's thread. Steps rather than milliseconds,
 * so that a value passes or fails alike on every machine.
 */
export class WorkMeter {
  #left = 0;

  /** Starts a check of at most `steps` steps. */
  refill(steps: number): void {
    this.#left = steps;
  }

  /** Spends `steps`; throws `WorkExceededError` when none remain. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new WorkExceededError("the check takes too much work");
  }
}
