import { Descriptors } from "../../src/wasi/guest/descriptors.ts";
import { DescriptorFunctions } from "../../src/wasi/guest/descriptor-functions.ts";
import { ERRNO, RIGHT, WasiError } from "../../src/wasi/guest/abi.ts";
import { CallFiles } from "../../src/wasi/guest/files.ts";
import { Memory } from "../../src/wasi/guest/memory.ts";
import { PathFunctions } from "../../src/wasi/guest/path-functions.ts";

export const ALL_RIGHTS = 2n ** 30n - 1n;
export const READ = RIGHT.fdRead | RIGHT.fdSeek | RIGHT.fdTell | RIGHT.fdStat;
export const WRITE = READ | RIGHT.fdWrite | RIGHT.fdSetSize;
/** The descriptor of the root, as it is the only one at the start. */
const ROOT = 0;
/** Where the arguments and the results of functions are in the memory. */
const AT = { path: 0, other: 8192, buffer: 16_384, list: 32_768, result: 40_000 };

interface Opening {
  readonly create?: boolean;
  readonly truncate?: boolean;
  readonly rights?: bigint;
  readonly inheriting?: bigint;
  readonly follow?: boolean;
  readonly base?: number;
}

/** A command of WASI that a test plays: each of its methods calls a function, and returns its error number or its result. */
export class TestCommand {
  readonly files: CallFiles;
  readonly #bytes = new Uint8Array(65_536);
  readonly #memory = new Memory(() => this.#bytes.buffer);
  readonly #calls: DescriptorFunctions["functions"] & PathFunctions["functions"];

  constructor(outputMax = 1_000) {
    this.files = new CallFiles(outputMax, () => 1_000_000_000n);
    const parts = {
      memory: this.#memory,
      descriptors: new Descriptors([this.files.openRoot()]),
      files: this.files,
    };
    this.#calls = { ...new DescriptorFunctions(parts).functions, ...new PathFunctions(parts).functions };
  }

  /** The new descriptor; an error number with a minus where it is refused. */
  open(path: string, opening: Opening = {}): number {
    const { create = false, truncate = false, rights = ALL_RIGHTS & ~RIGHT.fdWrite, inheriting = ALL_RIGHTS } = opening;
    const { follow = true, base = ROOT } = opening;
    const length = this.#put(AT.path, path);
    const oflags = (create ? 1 : 0) | (truncate ? 8 : 0);
    const errno = this.#errno(() =>
      this.#calls.path_open(base, follow ? 1 : 0, AT.path, length, oflags, rights, inheriting, 0, AT.result),
    );
    return errno === ERRNO.success ? this.#memory.view.getUint32(AT.result, true) : -errno;
  }

  close(fd: number): number {
    return this.#errno(() => this.#calls.fd_close(fd));
  }

  create(path: string): void {
    this.close(this.open(path, { create: true, rights: WRITE }));
  }

  folder(path: string): number {
    const length = this.#put(AT.path, path);
    return this.#errno(() => this.#calls.path_create_directory(ROOT, AT.path, length));
  }

  symlink(target: string, path: string): number {
    const targetLength = this.#put(AT.other, target);
    const length = this.#put(AT.path, path);
    return this.#errno(() => this.#calls.path_symlink(AT.other, targetLength, ROOT, AT.path, length));
  }

  link(from: string, to: string): number {
    const fromLength = this.#put(AT.path, from);
    const length = this.#put(AT.other, to);
    return this.#errno(() => this.#calls.path_link(ROOT, 0, AT.path, fromLength, ROOT, AT.other, length));
  }

  rename(from: string, to: string): number {
    const fromLength = this.#put(AT.path, from);
    const length = this.#put(AT.other, to);
    return this.#errno(() => this.#calls.path_rename(ROOT, AT.path, fromLength, ROOT, AT.other, length));
  }

  unlink(path: string): number {
    const length = this.#put(AT.path, path);
    return this.#errno(() => this.#calls.path_unlink_file(ROOT, AT.path, length));
  }

  removeFolder(path: string): number {
    const length = this.#put(AT.path, path);
    return this.#errno(() => this.#calls.path_remove_directory(ROOT, AT.path, length));
  }

  setSize(fd: number, size: bigint): number {
    return this.#errno(() => this.#calls.fd_filestat_set_size(fd, size));
  }

  setRights(fd: number, rights: bigint): number {
    return this.#errno(() => this.#calls.fd_fdstat_set_rights(fd, rights, 0n));
  }

  renumber(from: number, to: number): number {
    return this.#errno(() => this.#calls.fd_renumber(from, to));
  }

  /** Writes a text at the descriptor's position. */
  write(fd: number, text: string): number {
    this.#list(this.#put(AT.buffer, text));
    return this.#errno(() => this.#calls.fd_write(fd, AT.list, 1, AT.result));
  }

  /** The text from the descriptor's position on; an error number where it is refused. */
  read(fd: number): string | number {
    this.#list(1_000);
    const errno = this.#errno(() => this.#calls.fd_read(fd, AT.list, 1, AT.result));
    if (errno !== ERRNO.success) return errno;
    const length = this.#memory.view.getUint32(AT.result, true);
    return this.#memory.text(AT.buffer, length);
  }

  /** Number of names of what a path names. */
  linksOf(path: string): number {
    const length = this.#put(AT.path, path);
    this.#calls.path_filestat_get(ROOT, 0, AT.path, length, AT.buffer);
    return Number(this.#memory.view.getBigUint64(AT.buffer + 24, true));
  }

  /** Names in a folder, and the cookie after each, from a cookie on, as far as they fit into a buffer. */
  list(fd: number, cookie = 0n, room = 4_096): (readonly [name: string, next: bigint])[] {
    this.#calls.fd_readdir(fd, AT.buffer, room, cookie, AT.result);
    const used = this.#memory.view.getUint32(AT.result, true);
    const listed: (readonly [string, bigint])[] = [];
    for (let at = 0; at + 24 <= used;) {
      const next = this.#memory.view.getBigUint64(AT.buffer + at, true);
      const length = this.#memory.view.getUint32(AT.buffer + at + 16, true);
      if (at + 24 + length > used) break;
      listed.push([this.#memory.text(AT.buffer + at + 24, length), next]);
      at += 24 + length;
    }
    return listed;
  }

  #put(at: number, text: string): number {
    const bytes = Buffer.from(text);
    this.#bytes.set(bytes, at);
    return bytes.length;
  }

  #list(length: number): void {
    this.#memory.setU32(AT.list, AT.buffer);
    this.#memory.setU32(AT.list + 4, length);
  }

  #errno(call: () => void): number {
    try {
      call();
      return ERRNO.success;
    } catch (error) {
      if (error instanceof WasiError) return error.errno;
      throw error;
    }
  }
}
