/** Thrown when checking one value would take more work than a check may take. */
export class WorkExceededError extends Error {
  override readonly name = "WorkExceededError";
}

/**
 * Counts the work of one check in steps, so that neither a hostile schema (nested references that double at every
 * level) nor a hostile value (a string made for a pattern) can hold the host's thread. Steps and not milliseconds:
 * the same value then fails or passes on every machine.
 */
export class WorkMeter {
  #left = 0;

  /** Starts a check that may take `steps` steps. */
  refill(steps: number): void {
    this.#left = steps;
  }

  /** Takes `steps` from what is left; throws `WorkExceededError` when nothing is. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new WorkExceededError("the check takes too much work");
  }
}
