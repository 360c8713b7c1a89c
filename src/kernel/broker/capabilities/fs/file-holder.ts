import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { SystemError } from "./system-error.ts";

/** A file or folder in a mount, opened without following a link, and held until disposed. */
export interface HeldFile extends AsyncDisposable {
  readonly stats: Stats;
  /** Path on the host: for the system, never for a tool. */
  readonly path: string;
}

/** Holds files, so that a file swapped after the check is not taken for the one that was checked. */
export interface FileHolder {
  /** Holds a mount's folder. Throws if the path no longer leads to the folder of the policy. */
  root(folder: string): Promise<HeldFile>;
  hold(path: string): Promise<HeldFile>;
  /** Opens the same file that is held. */
  reopen(held: HeldFile, flags: number): Promise<FileHandle>;
  /** Creates a new file in a held folder. */
  create(folder: HeldFile, name: string, flags: number): Promise<FileHandle>;
}

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** Linux only, and missing from Node's constants: opens a descriptor that refers to a file without opening the file. */
export const O_PATH = 0o10000000;
/** Mode of new files: readable and writable for all, minus the host's umask. */
const MODE = 0o666;

export function child(folder: HeldFile, name: string): string {
  return `${folder.path}/${name}`;
}

/**
 * Holds descriptors, and uses paths through `/proc/self/fd`: even after a rename or a swapped link they lead to the
 * file that was checked. Without `/proc` every operation fails.
 */
export const descriptorFileHolder: FileHolder = {
  async root(folder) {
    const held = await holdByDescriptor(folder, O_DIRECTORY);
    try {
      // The kernel reports the path of the opened file, which differs if a parent has become a link to elsewhere.
      if ((await readlink(held.path)) === folder) return held;
      throw new SystemError("ENOENT");
    } catch (error) {
      await held[Symbol.asyncDispose]();
      throw error;
    }
  },
  hold: (path) => holdByDescriptor(path, 0),
  reopen: (held, flags) => open(held.path, flags | O_NONBLOCK | O_NOCTTY),
  create: (folder, name, flags) => open(child(folder, name), flags | O_CREAT | O_EXCL | O_NOFOLLOW, MODE),
};

async function holdByDescriptor(path: string, flags: number): Promise<HeldFile> {
  const handle = await open(path, O_PATH | O_NOFOLLOW | flags);
  try {
    const stats = await handle.stat();
    return {
      stats,
      // A closed descriptor has no number here, so a descriptor reused for another file is not taken for it.
      get path() {
        return `/proc/self/fd/${handle.fd}`;
      },
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * For systems other than Linux, and weaker: holds paths. The file opened is compared with the one checked, which
 * detects a swap before data is read or written, but not before an entry is created, renamed or removed.
 */
export const pathFileHolder: FileHolder = {
  async root(folder) {
    if ((await realpath(folder)) !== folder) throw new SystemError("ENOENT");
    return holdByPath(folder);
  },
  hold: holdByPath,
  async reopen(held, flags) {
    const handle = await open(held.path, flags | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0));
    try {
      const stats = await handle.stat();
      const isReal = (await realpath(held.path)) === held.path;
      // Check again: a parent folder may have been swapped and restored before `realpath` ran.
      if (isReal && isSame(stats, held.stats) && isSame(stats, await lstat(held.path))) return handle;
      throw new SystemError("ENOENT");
    } catch (error) {
      await handle.close();
      throw error;
    }
  },
  async create(folder, name, flags) {
    if ((await realpath(folder.path)) !== folder.path) throw new SystemError("ENOENT");
    return open(child(folder, name), flags | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0), MODE);
  },
};

function isSame(one: Stats, other: Stats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

async function holdByPath(path: string): Promise<HeldFile> {
  return { stats: await lstat(path), path, [Symbol.asyncDispose]: () => Promise.resolve() };
}

export const systemFileHolder: FileHolder = process.platform === "linux" ? descriptorFileHolder : pathFileHolder;
