import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, readSync, statfsSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { BoundedCache } from "../../../base/bounded-cache.ts";
import { descriptorFileHolder, type FileHolder, type HeldFile, O_PATH } from "./file-holder.ts";
import { SystemError } from "./system-error.ts";

/**
 * Types of file systems that answer without a network or another process: ext2 to 4, XFS, Btrfs, tmpfs, overlayfs, F2FS,
 * ZFS (`statfs`, `linux/magic.h`).
 */
const LOCAL_TYPES: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0x2fc12fc1,
]);
const FOLDERS_MAX = 256;
/** A folder is looked at again after this time: something else may have been mounted in it. */
const KNOWN_MS = 5_000;
/** Descriptors that one walk opens on this thread, some microseconds each. A path with many links needs more. */
export const WALK_AT_ONCE = 64;
const { O_DIRECTORY, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

const known = new BoundedCache<{ readonly isLocal: boolean; readonly untilMs: number }>(FOLDERS_MAX);

/** Whether a folder, with all in it, is on a local file system, where no system call waits for others. Linux only. */
export function isLocal(folder: string): boolean {
  if (process.platform !== "linux") return false;
  const nowMs = performance.now();
  const found = known.get(folder);
  if (found !== undefined && found.untilMs > nowMs) return found.isLocal;
  const answer = findLocal(folder);
  known.set(folder, { isLocal: answer, untilMs: nowMs + KNOWN_MS });
  return answer;
}

function findLocal(folder: string): boolean {
  try {
    if (!LOCAL_TYPES.has(statfsSync(folder).type)) return false;
    const below = folder.endsWith(path.sep) ? folder : folder + path.sep;
    return !mountPoints().some((point) => point.startsWith(below));
  } catch {
    return false;
  }
}

/** Their paths; the fifth field of each line, in which octal numbers stand for blanks (proc_pid_mountinfo(5)). */
function mountPoints(): readonly string[] {
  const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const unescape = (text: string) =>
    text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)));
  return lines.flatMap((line) => {
    const point = line.split(" ", 5)[4];
    return point === undefined ? [] : [unescape(point)];
  });
}

/**
 * Holds descriptors like `descriptorFileHolder`, for one walk in a local folder: on this thread, because the trips to
 * the system's thread pool take ten times as long as the system calls.
 */
export class LocalFileHolder implements FileHolder {
  #left = WALK_AT_ONCE;

  async root(folder: string): Promise<HeldFile> {
    const held = this.#hold(folder, O_DIRECTORY);
    try {
      // See `descriptorFileHolder`.
      if (readlinkSync(held.path) === folder) return held;
      throw new SystemError("ENOENT");
    } catch (error) {
      await held[Symbol.asyncDispose]();
      throw error;
    }
  }

  // An error of the system becomes a rejection.
  // oxlint-disable-next-line typescript/require-await
  async hold(file: string): Promise<HeldFile> {
    if (this.#left === 0) return descriptorFileHolder.hold(file);
    return this.#hold(file, 0);
  }

  reopen(held: HeldFile, flags: number): Promise<FileHandle> {
    return descriptorFileHolder.reopen(held, flags);
  }

  create(folder: HeldFile, name: string): Promise<FileHandle> {
    return descriptorFileHolder.create(folder, name);
  }

  #hold(file: string, flags: number): LocalFile {
    this.#left--;
    return new LocalFile(openSync(file, O_PATH | O_NOFOLLOW | flags));
  }
}

/** A held file on a local file system. */
export class LocalFile implements HeldFile {
  readonly stats;
  #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
    try {
      this.stats = fstatSync(fd);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  get path(): string {
    return `/proc/self/fd/${this.#fd}`;
  }

  /** Reads up to `maxBytes` bytes from a position, on this thread. */
  read(position: number, maxBytes: number): Buffer {
    const fd = openSync(this.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    try {
      const bytes = Buffer.allocUnsafe(maxBytes);
      let read = 0;
      while (read < maxBytes) {
        const count = readSync(fd, bytes, read, maxBytes - read, position + read);
        if (count === 0) break;
        read += count;
      }
      return bytes.subarray(0, read);
    } finally {
      closeSync(fd);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    // A closed descriptor has no number here: it may be that of another file by now.
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
    return Promise.resolve();
  }
}
