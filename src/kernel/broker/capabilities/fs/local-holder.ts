import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, readSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { BoundedCache } from "../../../base/bounded-cache.ts";
import { descriptorFileHolder, type FileHolder, type HeldFile, O_PATH } from "./file-holder.ts";
import { SystemError } from "./system-error.ts";

/** Types of file systems that answer without a network or another process. The layers of an overlay may be elsewhere. */
const LOCAL_TYPES: ReadonlySet<string> = new Set(["ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "f2fs", "zfs"]);
const FOLDERS_MAX = 256;
/** Time after which a folder is checked again: something else may have been mounted in it. */
const KNOWN_MS = 5_000;
/** Descriptors that are opened on this thread in one turn of its event loop: some milliseconds, reads included. */
export const TURN_AT_ONCE = 64;
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

/** Reads the kernel's list of mounts, and asks no file system: one that hangs would block this thread. */
function findLocal(folder: string): boolean {
  try {
    const mounts = mountsOfSystem();
    if (mounts.some(({ point }) => point !== folder && isWithin(point, folder))) return false;
    const above = mounts.filter(({ point }) => isWithin(folder, point));
    const nearest = Math.max(...above.map(({ point }) => point.length));
    // Of several mounts at one place, the last one covers the others.
    return LOCAL_TYPES.has(above.findLast(({ point }) => point.length === nearest)?.type ?? "");
  } catch {
    return false;
  }
}

function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith(path.sep) ? outer : outer + path.sep);
}

interface MountPoint {
  readonly point: string;
  readonly type: string;
}

/**
 * The fifth field of each line is the mount point, with blanks as octal numbers; the field after a hyphen is the type
 * (proc_pid_mountinfo(5)).
 */
function mountsOfSystem(): readonly MountPoint[] {
  const unescape = (text: string) =>
    text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)));
  const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  return lines.flatMap((line) => {
    const point = line.split(" ", 5)[4];
    const [, type] = / - (\S+)/.exec(line) ?? [];
    return point === undefined || type === undefined ? [] : [{ point: unescape(point), type }];
  });
}

/** Descriptors that may still be opened in this turn of the event loop, by all walks together. */
let leftInTurn = TURN_AT_ONCE;

/** Whether this turn has time for one more. Otherwise timers, sockets and other tenants would wait. */
function takeTurn(): boolean {
  if (leftInTurn === 0) return false;
  if (leftInTurn === TURN_AT_ONCE) setImmediate(() => (leftInTurn = TURN_AT_ONCE));
  leftInTurn--;
  return true;
}

/**
 * Holds descriptors like `descriptorFileHolder`, in local folders: on this thread while its turn has time, because the
 * trips to the system's thread pool take ten times as long as the system calls.
 */
export class LocalFileHolder implements FileHolder {
  async root(folder: string): Promise<HeldFile> {
    if (!takeTurn()) return await descriptorFileHolder.root(folder);
    const held = openLocal(folder, O_DIRECTORY);
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
    return takeTurn() ? openLocal(file, 0) : descriptorFileHolder.hold(file);
  }

  reopen(held: HeldFile, flags: number): Promise<FileHandle> {
    return descriptorFileHolder.reopen(held, flags);
  }

  create(folder: HeldFile, name: string, flags: number): Promise<FileHandle> {
    return descriptorFileHolder.create(folder, name, flags);
  }
}

function openLocal(file: string, flags: number): LocalFile {
  return new LocalFile(openSync(file, O_PATH | O_NOFOLLOW | flags));
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
