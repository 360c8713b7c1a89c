const KIB = 1024;
const MIB = 1024 * KIB;

/** How much one command, one call and all calls may do. What grants say is within `wallMs` and `outputBytes`. */
export interface ExecLimits {
  /** Longest time that a command may be given, in milliseconds. */
  readonly wallMs: number;
  /** Longest stdout, and longest stderr, in bytes, that a command may be given. */
  readonly outputBytes: number;
  /** Where a grant says nothing of its output. */
  readonly outputBytesUsual: number;
  /** What a command may write before it is killed: beyond what is kept, it is read and thrown away. */
  readonly drainedBytes: number;
  readonly commandBytes: number;
  readonly stdinBytes: number;
  /** Processes and threads of a command at once. */
  readonly processes: number;
  /** Memory of all processes of a command together, without their files. */
  readonly memoryBytes: number;
  /** Addresses of one process: what it can take before anybody looks. */
  readonly addressBytes: number;
  /** Length of a file. */
  readonly fileBytes: number;
  /** What each of a command's own folders holds, in bytes, and in files and folders. */
  readonly folderBytes: number;
  readonly folderEntries: number;
  /** Commands of all calls, and of one call, that run at once; more wait. */
  readonly atOnceInAll: number;
  readonly atOnce: number;
  /** Folders of the host in a command's sandbox. */
  readonly mounts: number;
}

export const EXEC_LIMITS: ExecLimits = Object.freeze({
  wallMs: 600_000,
  outputBytes: 16 * MIB,
  outputBytesUsual: MIB,
  drainedBytes: 64 * MIB,
  // Linux takes arguments of up to 128 KiB.
  commandBytes: 100_000,
  stdinBytes: MIB,
  processes: 128,
  memoryBytes: 512 * MIB,
  addressBytes: 4_096 * MIB,
  fileBytes: 64 * MIB,
  folderBytes: 64 * MIB,
  folderEntries: 50_000,
  atOnceInAll: 4,
  atOnce: 2,
  mounts: 32,
});
