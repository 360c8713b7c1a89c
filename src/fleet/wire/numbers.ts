/** So many numbers that were passed over are remembered. */
const MISSING_MAX = 64;

/**
 * Which numbers of one sender's letters have been read. A cluster's client sends each letter until it arrives, so one may overtake
 * another, and one may come twice.
 */
export class Numbers {
  #last = 0;
  readonly #missing = new Set<number>();

  /** Whether a number has not been read before; now it has. */
  take(number: number): boolean {
    if (number <= this.#last) return this.#missing.delete(number);
    for (let passed = Math.max(this.#last + 1, number - MISSING_MAX); passed < number; passed++) {
      this.#missing.add(passed);
    }
    for (const oldest of this.#missing) {
      if (this.#missing.size <= MISSING_MAX) break;
      this.#missing.delete(oldest);
    }
    this.#last = number;
    return true;
  }
}
