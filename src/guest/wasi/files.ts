import { Directory, File, Inode, OpenFile, PreopenDirectory, wasi } from "@bjorn3/browser_wasi_shim";
import { Utf8Decoder } from "../web/utf8.ts";

/** Space for files beside the output, in bytes. */
const SPARE_BYTES = 1024 * 1024;
/** Maximum number of files and folders that a call creates: each one takes memory. */
const ENTRIES_MAX = 1_000;
const OUT = "out";
const OUTPUT = "output.json";

/** The file to which a command writes its output. */
export const OUTPUT_PATH = `/${OUT}/${OUTPUT}`;

/** Quota of all files of a call. Removing a file frees nothing, truncating it does. */
class Quota {
  #bytes: number;
  #entries = ENTRIES_MAX;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Takes bytes, or returns them if negative. Returns whether the quota was sufficient. */
  take(bytes: number): boolean {
    if (bytes > this.#bytes) return false;
    this.#bytes -= bytes;
    return true;
  }

  takeEntry(): boolean {
    return this.#entries-- > 0;
  }
}

/** A file that grows by doubling, within its quota. */
class BoundedFile extends File {
  readonly #quota: Quota;
  #room = new Uint8Array(0);

  constructor(quota: Quota) {
    super([]);
    this.#quota = quota;
  }

  /** Sets the length; added bytes are zero. Returns whether the quota allowed it. */
  resize(length: number): boolean {
    const old = this.data.length;
    if (!this.#quota.take(length - old)) return false;
    if (length > this.#room.length) {
      const room = new Uint8Array(Math.max(length, Math.min(2 * old, old + SPARE_BYTES)));
      room.set(this.data);
      this.#room = room;
    } else if (length < old) this.#room.fill(0, length, old);
    this.data = this.#room.subarray(0, length);
    return true;
  }

  override path_open(oflags: number, _rights: bigint, flags: number): { ret: number; fd_obj: OpenFile } {
    if ((oflags & wasi.OFLAGS_TRUNC) !== 0) this.resize(0);
    return { ret: wasi.ERRNO_SUCCESS, fd_obj: new BoundedOpenFile(this, (flags & wasi.FDFLAGS_APPEND) !== 0) };
  }
}

class BoundedOpenFile extends OpenFile {
  readonly #file: BoundedFile;
  readonly #appends: boolean;

  constructor(file: BoundedFile, appends: boolean) {
    super(file);
    this.#file = file;
    this.#appends = appends;
  }

  override fd_allocate(offset: bigint, length: bigint): number {
    return this.#grow(offset + length);
  }

  override fd_filestat_set_size(size: bigint): number {
    // The shim passes an unsigned length as a signed number.
    if (size < 0n) return wasi.ERRNO_INVAL;
    if (size >= this.#file.size) return this.#grow(size);
    this.#file.resize(Number(size));
    return wasi.ERRNO_SUCCESS;
  }

  override fd_write(data: Uint8Array): { ret: number; nwritten: number } {
    if (this.#appends) this.file_pos = this.#file.size;
    const written = this.fd_pwrite(data, this.file_pos);
    this.file_pos += BigInt(written.nwritten);
    return written;
  }

  override fd_pwrite(data: Uint8Array, offset: bigint): { ret: number; nwritten: number } {
    const ret = data.length === 0 ? wasi.ERRNO_SUCCESS : this.#grow(offset + BigInt(data.length));
    if (ret !== wasi.ERRNO_SUCCESS) return { ret, nwritten: 0 };
    if (data.length > 0) this.#file.data.set(data, Number(offset));
    return { ret, nwritten: data.length };
  }

  /** Extends the file to at least `end` bytes. */
  #grow(end: bigint): number {
    if (end < 0n) return wasi.ERRNO_INVAL;
    if (end <= this.#file.size) return wasi.ERRNO_SUCCESS;
    // A value too large to be an exact number exceeds any quota.
    return this.#file.resize(Number(end)) ? wasi.ERRNO_SUCCESS : wasi.ERRNO_NOSPC;
  }
}

class BoundedDirectory extends Directory {
  readonly #quota: Quota;
  /** Result of the shim's last lookup: the folder in which it creates an entry. */
  #looked: Looked | null = null;

  constructor(quota: Quota, contents: Map<string, Inode>) {
    super(contents);
    this.#quota = quota;
  }

  override get_parent_dir_and_entry_for_path(...place: Place): Looked {
    return (this.#looked = super.get_parent_dir_and_entry_for_path(...place));
  }

  /** The only place where the shim creates files and folders; bounded ones replace them. */
  override create_entry_for_path(path: string, isFolder: boolean): { ret: number; entry: Inode | null } {
    if (!this.#quota.takeEntry()) return { ret: wasi.ERRNO_NOSPC, entry: null };
    const { ret, entry: made } = super.create_entry_for_path(path, isFolder);
    const { parent_entry: parent, filename } = this.#looked ?? {};
    if (made === null || !parent || typeof filename !== "string") return { ret, entry: null };
    const entry = isFolder ? new BoundedDirectory(this.#quota, new Map()) : new BoundedFile(this.#quota);
    parent.contents.set(filename, entry);
    return { ret, entry };
  }
}

type Place = Parameters<Directory["get_parent_dir_and_entry_for_path"]>;
type Looked = ReturnType<Directory["get_parent_dir_and_entry_for_path"]>;

/** The files of one call: a root with `/out` and `/tmp`, which are empty at first and discarded afterwards. */
export class CallFiles {
  readonly root = new PreopenDirectory("/", new Map());
  readonly #out: Directory;

  /** `outputMax`: maximum size of the output, in bytes. */
  constructor(outputMax: number) {
    const quota = new Quota(outputMax + SPARE_BYTES);
    // The shim numbers files globally; resetting the counter gives every call the same numbers.
    Reflect.set(Inode, "next_ino", 1n);
    this.#out = new BoundedDirectory(quota, new Map());
    const folders = new Map([
      [OUT, this.#out],
      ["tmp", new BoundedDirectory(quota, new Map())],
    ]);
    this.root.dir = new BoundedDirectory(quota, folders);
  }

  /** The command's output; `null` if it wrote none. */
  output(): string | null {
    const file = this.#out.contents.get(OUTPUT);
    return file instanceof File ? new Utf8Decoder(false).decode(file.data, true) : null;
  }
}

/** Standard input of a command, which is empty. */
export function emptyInput(): OpenFile {
  return new OpenFile(new File([], { readonly: true }));
}
