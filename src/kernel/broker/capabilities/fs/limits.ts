/** Limits of the capability `fs`, besides the call's own `capabilityCalls` and `capabilityBytes`. */
export interface FsLimits {
  /** Maximum number of mounts in one request or rule. */
  readonly mounts: number;
  /** Maximum length of a path, in characters. */
  readonly pathLength: number;
  /** Maximum depth of folders, in a path, a recursive listing or a recursive removal. */
  readonly depth: number;
  /** Maximum number of symbolic links in the resolution of one path; the kernel's limit is the same. */
  readonly links: number;
  /** Maximum bytes read or written by one operation. */
  readonly operationBytes: number;
  /** Maximum bytes read and written by all operations of a call, copies included; this also bounds a scratch folder. */
  readonly callBytes: number;
  /** Maximum entries listed or removed by one operation. */
  readonly entries: number;
  /** Maximum files and folders that a call creates in its scratch folder. */
  readonly scratchEntries: number;
  /** Maximum total bytes in the scratch folders of all running calls. */
  readonly scratchBytesInAll: number;
  /** Maximum operations of one call that run at once; more wait. */
  readonly atOnce: number;
  /** Maximum operations of all calls that run at once. Together with `depth` it bounds the open descriptors. */
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

/** Bytes in the scratch folders of all calls: they share one disk, which may be the machine's memory. */
export class ScratchSpace {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor({ scratchBytesInAll }: FsLimits) {
    this.#maxBytes = scratchBytesInAll;
  }

  /** Reserves bytes, and returns whether there was room for them. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#maxBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** Use of the limits by one call. Freed space is credited only when the call ends, so counts cannot be wrong. */
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

  /** Counts bytes to be read or written, and returns whether they are within the limit. */
  spend(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.#limits.callBytes;
  }

  /** Counts a new file or folder in the scratch folder, and returns whether it is within the limit. */
  makeScratchEntry(): boolean {
    this.#scratchEntries++;
    return this.#scratchEntries <= this.#limits.scratchEntries;
  }

  /** Reserves bytes in the scratch folder, and returns whether all calls' folders together have room for them. */
  spendScratch(bytes: number): boolean {
    if (!this.#space.take(bytes)) return false;
    this.#scratchBytes += bytes;
    return true;
  }

  /** Returns the call's scratch bytes after its scratch folder was removed. */
  end(): void {
    this.#space.giveBack(this.#scratchBytes);
    this.#scratchBytes = 0;
  }
}
