/** What bounds the capability `fs`, beside the call's own `capabilityCalls` and `capabilityBytes`. */
export interface FsLimits {
  /** Mounts that one request or rule may name. */
  readonly mounts: number;
  /** Characters of a path. */
  readonly pathLength: number;
  /** Folders below each other, in a path and in what is listed or removed with all it holds. */
  readonly depth: number;
  /** Symbolic links that one path may lead through, as the kernel counts them. */
  readonly links: number;
  /** Bytes that one operation reads or writes. */
  readonly operationBytes: number;
  /** Bytes that all operations of a call read and write, copies included: so no scratch folder holds more. */
  readonly callBytes: number;
  /** Entries that one operation lists or removes. */
  readonly entries: number;
  /** Files and folders that a call makes in its scratch folder. */
  readonly scratchEntries: number;
  /** Bytes that all calls that are under way write to their scratch folders, counted together. */
  readonly scratchBytesInAll: number;
  /** Operations of one call that run side by side; more wait. */
  readonly atOnce: number;
  /** Operations of all calls that run side by side: with `depth`, it bounds the descriptors that are open. */
  readonly atOnceInAll: number;
}

export const FS_LIMITS: FsLimits = {
  mounts: 32,
  pathLength: 4_096,
  depth: 32,
  links: 40,
  operationBytes: 8 * 1024 * 1024,
  callBytes: 64 * 1024 * 1024,
  entries: 10_000,
  scratchEntries: 1_000,
  scratchBytesInAll: 1024 * 1024 * 1024,
  atOnce: 4,
  atOnceInAll: 32,
};

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
