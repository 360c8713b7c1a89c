/** Maximum number of live descendants of one top-level call. */
export const ALIVE_MAX = 64;
/** Minimum share of the remaining time that each concurrent child reserves, as few use all that they reserve. */
const LEAST_PART = 1 / 8;

/** Processor time and places for the child calls of one call. Created at its first child call. */
export class ChildBudget {
  readonly #cpuMs: number;
  readonly #parent: ChildBudget | null;
  #usedMs = 0;
  #reservedMs = 0;
  /** Number of live descendants; counted only at the root of the chain. */
  #alive = 0;

  constructor(cpuMs: number, parent: ChildBudget | null) {
    this.#cpuMs = cpuMs;
    this.#parent = parent;
  }

  /** Processor time available to one more child call, in milliseconds. The call's own use is unknown until it ends. */
  get leftMs(): number {
    const unused = this.#cpuMs - this.#usedMs;
    const free = Math.max(unused - this.#reservedMs, unused * LEAST_PART);
    return Math.floor(Math.min(free, this.#parent?.unusedMs ?? Number.POSITIVE_INFINITY));
  }

  /** Processor time that neither the descendants of this call nor those of its ancestors have used, in milliseconds. */
  get unusedMs(): number {
    return Math.min(this.#cpuMs - this.#usedMs, this.#parent?.unusedMs ?? Number.POSITIVE_INFINITY);
  }

  /** Takes a place for a child call; returns whether one was free. Each `enter` needs one `leave`. */
  enter(): boolean {
    if (this.#parent !== null) return this.#parent.enter();
    if (this.#alive >= ALIVE_MAX) return false;
    this.#alive++;
    return true;
  }

  reserve(cpuMs: number): void {
    this.#reservedMs += cpuMs;
  }

  /** Releases a child call's place and reservation. */
  leave(cpuMs: number): void {
    this.#reservedMs -= cpuMs;
    this.#leavePlace();
  }

  #leavePlace(): void {
    if (this.#parent === null) this.#alive--;
    else this.#parent.#leavePlace();
  }

  /**
   * Charges processor time of a descendant, which its other ancestors are charged as well: at its end, or later where
   * its work outlasted its answer.
   */
  charge(cpuMs: number): void {
    this.#usedMs += cpuMs;
  }
}
