import type { FsLimits } from "./limits.ts";

/** What one call has used up. What it frees again is not given back, so nothing can be counted wrongly. */
export class Budget {
  readonly #limits: FsLimits;
  #bytes = 0;
  #scratchEntries = 0;

  constructor(limits: FsLimits) {
    this.#limits = limits;
  }

  /** Whether so many bytes more may be read or written; they are if so. */
  spend(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.#limits.callBytes;
  }

  /** Whether one more file or folder may be made in the scratch folder. */
  makeScratchEntry(): boolean {
    this.#scratchEntries++;
    return this.#scratchEntries <= this.#limits.scratchEntries;
  }
}
