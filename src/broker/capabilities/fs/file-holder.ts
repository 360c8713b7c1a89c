import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { SystemError } from "./system-error.ts";

/** Something in a mount, looked at without following a link. It is held until it is disposed of. */
export interface HeldFile extends AsyncDisposable {
  readonly stats: Stats;
  /** The host's path to it: for the system, never for a tool. */
  readonly path: string;
}

/** Holds files, so that a file that is swapped meanwhile is not taken for the one that was looked at. */
export interface FileHolder {
  /** Holds a mount's folder. Throws where that is not what it was when the policy was read. */
  root(folder: string): Promise<HeldFile>;
  hold(path: string): Promise<HeldFile>;
  /** Opens the very file that is held. */
  reopen(held: HeldFile, flags: number): Promise<FileHandle>;
  /** Makes a file that is not there yet, in a folder that is held. */
  create(folder: HeldFile, name: string): Promise<FileHandle>;
}

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
/** Linux only, and missing from Node's constants: a descriptor that names a file without opening it. */
const O_PATH = 0o10000000;
/** New files are for everybody whom the host's umask lets in. */
const MODE = 0o666;

export function child(folder: HeldFile, name: string): string {
  return `${folder.path}/${name}`;
}

/**
 * A descriptor for whatever is held, and paths through `/proc/self/fd`: whatever is renamed or linked meanwhile, they
 * lead to the file that was looked at. Without `/proc` nothing can be held, and so nothing is done.
 */
export const descriptorFileHolder: FileHolder = {
  async root(folder) {
    const held = await holdByDescriptor(folder, O_DIRECTORY);
    try {
      // The kernel tells the path of what it opened: it has changed where a parent has become a link to elsewhere.
      if ((await readlink(held.path)) === folder) return held;
      throw new SystemError("ENOENT");
    } catch (error) {
      await held[Symbol.asyncDispose]();
      throw error;
    }
  },
  hold: (path) => holdByDescriptor(path, 0),
  reopen: (held, flags) => open(held.path, flags | O_NONBLOCK | O_NOCTTY),
  create: (folder, name) => open(child(folder, name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, MODE),
};

async function holdByDescriptor(path: string, flags: number): Promise<HeldFile> {
  const handle = await open(path, O_PATH | O_NOFOLLOW | flags);
  try {
    const stats = await handle.stat();
    return {
      stats,
      // A descriptor that is closed has no number, so that none which was given out anew is taken for it.
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
 * For systems other than Linux, and weaker: what is held is a path. What was opened is compared with what was looked
 * at, which finds a swap out before anything is read or written, but not before something is made, renamed or removed.
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
      // Looked at once more: a folder on the way may have been elsewhere, and back, before its real path was asked for.
      if (isReal && isSame(stats, held.stats) && isSame(stats, await lstat(held.path))) return handle;
      throw new SystemError("ENOENT");
    } catch (error) {
      await handle.close();
      throw error;
    }
  },
  async create(folder, name) {
    if ((await realpath(folder.path)) !== folder.path) throw new SystemError("ENOENT");
    return open(child(folder, name), O_WRONLY | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0), MODE);
  },
};

function isSame(one: Stats, other: Stats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

async function holdByPath(path: string): Promise<HeldFile> {
  return { stats: await lstat(path), path, [Symbol.asyncDispose]: () => Promise.resolve() };
}

export const systemFileHolder: FileHolder = process.platform === "linux" ? descriptorFileHolder : pathFileHolder;
