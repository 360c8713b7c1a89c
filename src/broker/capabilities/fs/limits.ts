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
