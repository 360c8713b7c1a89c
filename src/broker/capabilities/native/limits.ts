const KIB = 1024;
const MIB = 1024 * KIB;

/** How much one run of a binary, and all of them, may do beside what the call's own limits say. */
export interface NativeLimits {
  /** Longest argument that Linux takes, in bytes, without the one that ends it. */
  readonly argumentBytes: number;
  /** Of stdout, and of stderr, is kept so much. */
  readonly saidBytes: number;
  /** What a binary may write to both before it is ended. */
  readonly drainedBytes: number;
  /** Threads of a binary: it has one process. */
  readonly threads: number;
  readonly openFiles: number;
  /** What its folder holds, in bytes, and in files and folders. */
  readonly folderBytes: number;
  readonly folderEntries: number;
  /** Memory that it may have set aside beyond `memoryMb`, without using it. */
  readonly spareBytes: number;
  /** Addresses: what it can take of what it has in common with nobody else before anybody looks. */
  readonly addressBytes: number;
  /** Runs of all calls at once; more wait. */
  readonly atOnce: number;
  /** Files of an engine's binaries together, and how many. */
  readonly keptBytes: number;
  readonly kept: number;
}

export const NATIVE_LIMITS: NativeLimits = Object.freeze({
  argumentBytes: 128 * KIB - 1,
  saidBytes: 64 * KIB,
  drainedBytes: 16 * MIB,
  threads: 64,
  openFiles: 256,
  folderBytes: 64 * MIB,
  folderEntries: 10_000,
  spareBytes: 256 * MIB,
  addressBytes: 8_192 * MIB,
  atOnce: 8,
  keptBytes: 1_024 * MIB,
  kept: 1_000,
});
