import type { FsLimits } from "./limits.ts";

/** What the scratch folders of all calls may hold together: they share one disk, and it may be the machine's memory. */
export class ScratchSpace {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor({ scratchBytesInAll }: FsLimits) {
    this.#maxBytes = scratchBytesInAll;
  }

  /** Whether there is room for so many bytes more; they are taken if so. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#maxBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** What one call has used up. What it frees again is not given back before it ends, so nothing can be counted wrongly. */
export class Budget {
  readonly #limits: FsLimits;
  readonly #space: ScratchSpace;
  #bytes = 0;
  #scratchBytes = 0;
  #scratchEntries = 0;

  constructor(limits: FsLimits, space: ScratchSpace) {
    this.#limits = limits;
    this.#space = space;
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

  /** Whether so many bytes may be written to the scratch folder, by what those of all calls hold. */
  spendScratch(bytes: number): boolean {
    if (!this.#space.take(bytes)) return false;
    this.#scratchBytes += bytes;
    return true;
  }

  /** The call's scratch folder is gone. */
  end(): void {
    this.#space.giveBack(this.#scratchBytes);
    this.#scratchBytes = 0;
  }
}
