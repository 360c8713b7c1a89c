/** Numbers of WASI preview 1, as its binary interface defines them. */

export const ERRNO = {
  success: 0,
  badf: 8,
  exist: 20,
  ilseq: 25,
  inval: 28,
  isdir: 31,
  loop: 32,
  mfile: 33,
  nametoolong: 37,
  noent: 44,
  nospc: 51,
  nosys: 52,
  notdir: 54,
  notempty: 55,
  notsock: 57,
  perm: 63,
  spipe: 70,
  notcapable: 76,
} as const;

export type Errno = (typeof ERRNO)[keyof typeof ERRNO];

export const FILETYPE = { characterDevice: 2, directory: 3, regularFile: 4, symbolicLink: 7 } as const;

export const RIGHT = {
  fdDatasync: 1n << 0n,
  fdRead: 1n << 1n,
  fdSeek: 1n << 2n,
  fdSetFlags: 1n << 3n,
  fdSync: 1n << 4n,
  fdTell: 1n << 5n,
  fdWrite: 1n << 6n,
  fdAdvise: 1n << 7n,
  fdAllocate: 1n << 8n,
  pathCreateFolder: 1n << 9n,
  pathCreateFile: 1n << 10n,
  pathLinkSource: 1n << 11n,
  pathLinkTarget: 1n << 12n,
  pathOpen: 1n << 13n,
  fdReaddir: 1n << 14n,
  pathReadlink: 1n << 15n,
  pathRenameSource: 1n << 16n,
  pathRenameTarget: 1n << 17n,
  pathStat: 1n << 18n,
  pathSetSize: 1n << 19n,
  pathSetTimes: 1n << 20n,
  fdStat: 1n << 21n,
  fdSetSize: 1n << 22n,
  fdSetTimes: 1n << 23n,
  pathSymlink: 1n << 24n,
  pathRemoveFolder: 1n << 25n,
  pathUnlinkFile: 1n << 26n,
  pollReadwrite: 1n << 27n,
} as const;

/** All that can be done with an open file, and with an open folder. */
export const FILE_RIGHTS = rightsOf(
  "fdDatasync fdRead fdSeek fdSetFlags fdSync fdTell fdWrite fdAdvise fdAllocate fdStat fdSetSize fdSetTimes pollReadwrite",
);
export const FOLDER_RIGHTS = rightsOf(
  "fdSetFlags fdSync fdReaddir fdStat fdSetTimes pathCreateFolder pathCreateFile pathLinkSource pathLinkTarget pathOpen " +
    "pathReadlink pathRenameSource pathRenameTarget pathStat pathSetSize pathSetTimes pathSymlink pathRemoveFolder " +
    "pathUnlinkFile",
);

export const OFLAG = { create: 1, directory: 2, exclusive: 4, truncate: 8 } as const;
export const FDFLAG_APPEND = 1;
/** All flags of descriptors: append, dsync, nonblock, rsync and sync. */
export const FDFLAGS = 0b11111;
export const FSTFLAG = { atime: 1, atimeNow: 2, mtime: 4, mtimeNow: 8 } as const;
export const LOOKUP_FOLLOW = 1;
export const WHENCE = { set: 0, current: 1, end: 2 } as const;
export const ADVICE_MAX = 5;

export const CLOCK = { realtime: 0, monotonic: 1, processCpu: 2, threadCpu: 3 } as const;
export const EVENTTYPE_CLOCK = 0;

/** A function of WASI that ends with an error number, which is its return value. */
export class WasiError extends Error {
  readonly errno: Errno;

  constructor(errno: Errno) {
    super(`errno ${errno}`);
    this.errno = errno;
  }
}

function rightsOf(names: string): bigint {
  return names.split(" ").reduce((rights, name) => rights | RIGHT[name as keyof typeof RIGHT], 0n);
}
