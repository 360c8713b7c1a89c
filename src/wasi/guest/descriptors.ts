import { ERRNO, FDFLAG_APPEND, FILE_RIGHTS, FILETYPE, FOLDER_RIGHTS, RIGHT, WasiError } from "./abi.ts";
import type { FileNode, FolderNode } from "./nodes.ts";

/** Maximum number of open descriptors of a call. */
const DESCRIPTORS_MAX = 1_000;

/** Base of all descriptors: flags, and the rights of its own and of descriptors that are opened through it. */
abstract class BaseDescriptor {
  flags = 0;
  rights: bigint;
  inheriting: bigint;

  constructor(rights: bigint, inheriting: bigint) {
    this.rights = rights;
    this.inheriting = inheriting;
  }

  /** Rights can be given up, and not taken again. */
  restrict(rights: bigint, inheriting: bigint): void {
    if ((rights & ~this.rights) !== 0n || (inheriting & ~this.inheriting) !== 0n) {
      throw new WasiError(ERRNO.notcapable);
    }
    this.rights = rights;
    this.inheriting = inheriting;
  }

  /** Throws a `WasiError` unless it has a right. */
  need(right: bigint): void {
    if ((this.rights & right) !== 0n) return;
    // As in POSIX, a file that was not opened for reading or writing is a bad descriptor for that.
    throw new WasiError(right === RIGHT.fdRead || right === RIGHT.fdWrite ? ERRNO.badf : ERRNO.notcapable);
  }
}

export class OpenFile extends BaseDescriptor {
  readonly filetype = FILETYPE.regularFile;
  readonly node: FileNode;
  position = 0n;

  constructor(node: FileNode, rights = FILE_RIGHTS) {
    super(rights & FILE_RIGHTS, 0n);
    this.node = node;
  }

  /** Reads at an offset into buffers. Returns the number of bytes. */
  read(buffers: Iterable<Uint8Array>, offset: bigint): number {
    const { data } = this.node;
    let at = offset < BigInt(data.length) ? Number(offset) : data.length;
    const start = at;
    for (const buffer of buffers) {
      const part = data.subarray(at, at + buffer.length);
      buffer.set(part);
      at += part.length;
      if (part.length < buffer.length) break;
    }
    return at - start;
  }

  /** Writes at an offset. Returns the number of bytes, which are fewer if the quota is used up. */
  write(buffers: Iterable<Uint8Array>, offset: bigint, nowNs: bigint): number {
    let written = 0;
    for (const buffer of buffers) {
      if (buffer.length === 0) continue;
      const at = offset + BigInt(written);
      try {
        this.node.extend(at + BigInt(buffer.length));
      } catch (error) {
        if (written > 0 && error instanceof WasiError) break;
        throw error;
      }
      this.node.data.set(buffer, Number(at));
      written += buffer.length;
    }
    if (written > 0) this.node.touch(nowNs);
    return written;
  }

  /** Position of the next write by `fd_write`. */
  get writePosition(): bigint {
    return (this.flags & FDFLAG_APPEND) === 0 ? this.position : BigInt(this.node.size);
  }
}

export class OpenFolder extends BaseDescriptor {
  readonly filetype = FILETYPE.directory;
  readonly node: FolderNode;
  /** Path under which a command finds it at its start; `null` for one that it has opened itself. */
  readonly preopened: string | null;

  constructor(node: FolderNode, rights: bigint, inheriting: bigint, preopened: string | null = null) {
    super(rights & FOLDER_RIGHTS, inheriting & (FOLDER_RIGHTS | FILE_RIGHTS));
    this.node = node;
    this.preopened = preopened;
  }
}

/** An output stream. */
export class OpenStream extends BaseDescriptor {
  readonly filetype = FILETYPE.characterDevice;
  readonly write: (bytes: Uint8Array) => void;

  constructor(write: (bytes: Uint8Array) => void) {
    super(RIGHT.fdWrite | RIGHT.fdStat | RIGHT.pollReadwrite, 0n);
    this.write = write;
  }
}

export type Descriptor = OpenFile | OpenFolder | OpenStream;

/** A call's descriptors. A number that was closed is given again, the lowest first. */
export class Descriptors {
  readonly #open: (Descriptor | undefined)[];

  constructor(open: readonly Descriptor[]) {
    this.#open = [...open];
  }

  get(fd: number): Descriptor {
    const descriptor = this.#open[fd >>> 0];
    if (descriptor === undefined) throw new WasiError(ERRNO.badf);
    return descriptor;
  }

  /** A file, for which the descriptor has a right. */
  file(fd: number, right: bigint): OpenFile {
    const descriptor = this.get(fd);
    if (descriptor instanceof OpenFolder) throw new WasiError(ERRNO.isdir);
    if (descriptor instanceof OpenStream) throw new WasiError(ERRNO.spipe);
    descriptor.need(right);
    return descriptor;
  }

  /** A folder, for which the descriptor has a right. */
  folder(fd: number, right: bigint): OpenFolder {
    const descriptor = this.get(fd);
    if (!(descriptor instanceof OpenFolder)) throw new WasiError(ERRNO.notdir);
    descriptor.need(right);
    return descriptor;
  }

  add(descriptor: Descriptor): number {
    const free = this.#open.indexOf(undefined);
    const fd = free === -1 ? this.#open.length : free;
    if (fd >= DESCRIPTORS_MAX) throw new WasiError(ERRNO.mfile);
    this.#open[fd] = descriptor;
    return fd;
  }

  close(fd: number): void {
    this.get(fd);
    this.#open[fd >>> 0] = undefined;
  }

  /** Moves a descriptor onto another open one, which is closed. */
  move(from: number, to: number): void {
    const descriptor = this.get(from);
    this.get(to);
    this.#open[from >>> 0] = undefined;
    this.#open[to >>> 0] = descriptor;
  }
}
