import { encodeUtf8 } from "../../kernel/guest/web/utf8.ts";
import { ADVICE_MAX, ERRNO, FDFLAGS, RIGHT, WasiError, WHENCE } from "./abi.ts";
import { type Descriptors, OpenFolder, OpenStream } from "./descriptors.ts";
import type { CallFiles } from "./files.ts";
import type { Memory } from "./memory.ts";
import type { Listed } from "./nodes.ts";
import { setTimes, writeFdstat, writeFilestat } from "./stat.ts";

const DIRENT_BYTES = 24;
const POSITION_MAX = 2n ** 63n;

/** State of a call that the functions work on. */
export interface FunctionParts {
  readonly memory: Memory;
  readonly descriptors: Descriptors;
  readonly files: CallFiles;
}

/** The functions of WASI for open descriptors. One that fails throws a `WasiError`. */
export class DescriptorFunctions {
  readonly #memory: Memory;
  readonly #descriptors: Descriptors;
  readonly #files: CallFiles;

  constructor({ memory, descriptors, files }: FunctionParts) {
    this.#memory = memory;
    this.#descriptors = descriptors;
    this.#files = files;
  }

  get functions() {
    return {
      fd_advise: (fd: number, _at: bigint, _length: bigint, advice: number) => this.#advise(fd, advice),
      fd_allocate: (fd: number, at: bigint, length: bigint) => this.#allocate(fd, at, length),
      fd_close: (fd: number) => this.#descriptors.close(fd),
      fd_datasync: (fd: number) => this.#sync(fd),
      fd_fdstat_get: (fd: number, to: number) => writeFdstat(this.#memory, to, this.#descriptors.get(fd)),
      fd_fdstat_set_flags: (fd: number, flags: number) => this.#setFlags(fd, flags),
      fd_fdstat_set_rights: (fd: number, rights: bigint, inheriting: bigint) =>
        this.#descriptors.get(fd).restrict(unsigned(rights), unsigned(inheriting)),
      fd_filestat_get: (fd: number, to: number) => this.#stat(fd, to),
      fd_filestat_set_size: (fd: number, size: bigint) => this.#setSize(fd, size),
      fd_filestat_set_times: (fd: number, accessed: bigint, modified: bigint, flags: number) =>
        this.#setTimes(fd, accessed, modified, flags),
      fd_pread: (fd: number, list: number, count: number, at: bigint, to: number) =>
        this.#readAt(fd, list, count, at, to),
      fd_prestat_dir_name: (fd: number, to: number, length: number) => this.#preopenedName(fd, to, length),
      fd_prestat_get: (fd: number, to: number) => this.#preopened(fd, to),
      fd_pwrite: (fd: number, list: number, count: number, at: bigint, to: number) =>
        this.#writeAt(fd, list, count, at, to),
      fd_read: (fd: number, list: number, count: number, to: number) => this.#read(fd, list, count, to),
      fd_readdir: (fd: number, to: number, length: number, cookie: bigint, usedTo: number) =>
        this.#list(fd, to, length, cookie, usedTo),
      fd_renumber: (from: number, to: number) => this.#descriptors.move(from, to),
      fd_seek: (fd: number, offset: bigint, whence: number, to: number) => this.#seek(fd, offset, whence, to),
      fd_sync: (fd: number) => this.#sync(fd),
      fd_tell: (fd: number, to: number) => this.#memory.setU64(to, this.#descriptors.file(fd, RIGHT.fdTell).position),
      fd_write: (fd: number, list: number, count: number, to: number) => this.#write(fd, list, count, to),
    };
  }

  #advise(fd: number, advice: number): void {
    this.#descriptors.file(fd, RIGHT.fdAdvise);
    if (advice >>> 0 > ADVICE_MAX) throw new WasiError(ERRNO.inval);
  }

  #allocate(fd: number, at: bigint, length: bigint): void {
    this.#descriptors.file(fd, RIGHT.fdAllocate).node.extend(unsigned(at) + unsigned(length));
  }

  /** Files are in memory: a sync has no effect. */
  #sync(fd: number): void {
    this.#descriptors.get(fd);
  }

  #setFlags(fd: number, flags: number): void {
    const descriptor = this.#descriptors.get(fd);
    if (!(descriptor instanceof OpenStream)) descriptor.need(RIGHT.fdSetFlags);
    descriptor.flags = flags & FDFLAGS;
  }

  #stat(fd: number, to: number): void {
    const descriptor = this.#descriptors.get(fd);
    descriptor.need(RIGHT.fdStat);
    const node = descriptor instanceof OpenStream ? null : descriptor.node;
    writeFilestat(this.#memory, to, node, descriptor.filetype);
  }

  #setSize(fd: number, size: bigint): void {
    const { node } = this.#descriptors.file(fd, RIGHT.fdSetSize);
    node.resize(unsigned(size));
    node.touch(this.#files.nowNs);
  }

  #setTimes(fd: number, accessed: bigint, modified: bigint, flags: number): void {
    const descriptor = this.#descriptors.get(fd);
    descriptor.need(RIGHT.fdSetTimes);
    if (descriptor instanceof OpenStream) throw new WasiError(ERRNO.inval);
    setTimes(descriptor.node, { accessed, modified, flags }, this.#files.nowNs);
  }

  #preopened(fd: number, to: number): void {
    this.#memory.setU32(to, 0);
    this.#memory.setU32(to + 4, encodeUtf8(this.#nameOf(fd)).length);
  }

  #preopenedName(fd: number, to: number, length: number): void {
    const name = encodeUtf8(this.#nameOf(fd));
    if (name.length > length >>> 0) throw new WasiError(ERRNO.nametoolong);
    this.#memory.bytes(to, name.length).set(name);
  }

  /** Programs find the end of the preopened descriptors by this error. */
  #nameOf(fd: number): string {
    const descriptor = this.#descriptors.get(fd);
    if (descriptor instanceof OpenFolder && descriptor.preopened !== null) return descriptor.preopened;
    throw new WasiError(ERRNO.badf);
  }

  #read(fd: number, list: number, count: number, to: number): void {
    const file = this.#descriptors.file(fd, RIGHT.fdRead);
    const read = file.read(this.#memory.buffers(list, count), file.position);
    file.position += BigInt(read);
    this.#memory.setU32(to, read);
  }

  #readAt(fd: number, list: number, count: number, at: bigint, to: number): void {
    const file = this.#descriptors.file(fd, RIGHT.fdRead);
    this.#memory.setU32(to, file.read(this.#memory.buffers(list, count), unsigned(at)));
  }

  #write(fd: number, list: number, count: number, to: number): void {
    const buffers = this.#memory.buffers(list, count);
    const descriptor = this.#descriptors.get(fd);
    if (descriptor instanceof OpenStream) {
      descriptor.need(RIGHT.fdWrite);
      let written = 0;
      for (const buffer of buffers) {
        descriptor.write(buffer);
        written += buffer.length;
      }
      this.#memory.setU32(to, written);
      return;
    }
    const file = this.#descriptors.file(fd, RIGHT.fdWrite);
    const at = file.writePosition;
    const written = file.write(buffers, at, this.#files.nowNs);
    file.position = at + BigInt(written);
    this.#memory.setU32(to, written);
  }

  #writeAt(fd: number, list: number, count: number, at: bigint, to: number): void {
    const file = this.#descriptors.file(fd, RIGHT.fdWrite);
    this.#memory.setU32(to, file.write(this.#memory.buffers(list, count), unsigned(at), this.#files.nowNs));
  }

  /**
   * Lists a folder from a cookie on. An entry that does not fit is cut off, which fills the buffer: a sign of further
   * entries.
   */
  #list(fd: number, to: number, length: number, cookie: bigint, usedTo: number): void {
    const { node } = this.#descriptors.folder(fd, RIGHT.fdReaddir);
    const bytes = this.#memory.bytes(to, length);
    let used = 0;
    for (const listed of node.list(unsigned(cookie))) {
      const part = direntOf(listed).subarray(0, bytes.length - used);
      bytes.set(part, used);
      used += part.length;
      if (used === bytes.length) break;
    }
    this.#memory.setU32(usedTo, used);
  }

  #seek(fd: number, offset: bigint, whence: number, to: number): void {
    const file = this.#descriptors.file(fd, RIGHT.fdSeek);
    const position = offset + startOf(whence, file.position, file.node.size);
    if (position < 0n || position >= POSITION_MAX) throw new WasiError(ERRNO.inval);
    file.position = position;
    this.#memory.setU64(to, position);
  }
}

/** Modules pass numbers of 64 bits with a sign. */
function unsigned(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}

function startOf(whence: number, position: bigint, size: number): bigint {
  if (whence === WHENCE.set) return 0n;
  if (whence === WHENCE.current) return position;
  if (whence === WHENCE.end) return BigInt(size);
  throw new WasiError(ERRNO.inval);
}

/** A line of a folder's list, as its name follows it. */
function direntOf({ name, node, next }: Listed): Uint8Array {
  const text = encodeUtf8(name);
  const bytes = new Uint8Array(DIRENT_BYTES + text.length);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, next, true);
  view.setBigUint64(8, node.ino, true);
  view.setUint32(16, text.length, true);
  view.setUint8(20, node.filetype);
  bytes.set(text, DIRENT_BYTES);
  return bytes;
}
