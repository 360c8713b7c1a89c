import { ERRNO, FILETYPE, WasiError } from "./abi.ts";

/** Maximum spare bytes by which a file grows beyond its content. */
const SPARE_BYTES = 1024 * 1024;
/** First cookies of a folder's list: of `.` and `..`. */
const FIRST_COOKIE = 2n;

/** Quota of all files of a call. Removing a file frees nothing, truncating it does. */
export class Quota {
  #bytes: number;
  #entries: number;

  constructor(bytes: number, entries: number) {
    this.#bytes = bytes;
    this.#entries = entries;
  }

  /** Takes bytes, or returns them if negative. Throws a `WasiError` if the quota is insufficient. */
  takeBytes(bytes: number): void {
    if (bytes > this.#bytes) throw new WasiError(ERRNO.nospc);
    this.#bytes -= bytes;
  }

  takeEntry(): void {
    if (this.#entries <= 0) throw new WasiError(ERRNO.nospc);
    this.#entries -= 1;
  }
}

/** Base of all nodes of a file system. Times are nanoseconds since the epoch. */
abstract class BaseNode {
  readonly ino: bigint;
  /** Number of names that it has. */
  links = 0;
  accessedNs: bigint;
  modifiedNs: bigint;
  changedNs: bigint;

  constructor(ino: bigint, nowNs: bigint) {
    this.ino = ino;
    this.accessedNs = nowNs;
    this.modifiedNs = nowNs;
    this.changedNs = nowNs;
  }

  touch(nowNs: bigint): void {
    this.modifiedNs = nowNs;
    this.changedNs = nowNs;
  }
}

/** A file that grows by doubling, within its quota. */
export class FileNode extends BaseNode {
  readonly filetype = FILETYPE.regularFile;
  readonly #quota: Quota;
  #room = new Uint8Array(0);
  #length = 0;

  constructor(ino: bigint, nowNs: bigint, quota: Quota) {
    super(ino, nowNs);
    this.#quota = quota;
  }

  get size(): number {
    return this.#length;
  }

  get data(): Uint8Array {
    return this.#room.subarray(0, this.#length);
  }

  /** Sets the length; added bytes are zero. Throws a `WasiError` if it is no length, or too long. */
  resize(length: bigint): void {
    if (length >= 2n ** 63n) throw new WasiError(ERRNO.inval);
    // A value too large to be an exact number exceeds any quota.
    const next = Number(length);
    const old = this.#length;
    this.#quota.takeBytes(next - old);
    if (next > this.#room.length) {
      this.#move(Math.max(next, Math.min(2 * old, old + SPARE_BYTES)), old);
    } else if (next < old) {
      // Bytes given back to the quota are given back to the isolate as well.
      if (next <= this.#room.length / 2) this.#move(next, next);
      else this.#room.fill(0, next, old);
    }
    this.#length = next;
  }

  /** Extends the file to at least `end` bytes. */
  extend(end: bigint): void {
    if (end > BigInt(this.#length)) this.resize(end);
  }

  #move(length: number, kept: number): void {
    const room = new Uint8Array(length);
    room.set(this.#room.subarray(0, kept));
    this.#room = room;
  }
}

/** A symbolic link. */
export class LinkNode extends BaseNode {
  readonly filetype = FILETYPE.symbolicLink;
  readonly target: string;
  readonly size: number;

  constructor(ino: bigint, nowNs: bigint, target: string, size: number) {
    super(ino, nowNs);
    this.target = target;
    this.size = size;
  }
}

export type Node = FileNode | FolderNode | LinkNode;

/** A line of a folder's list. `next` is the cookie of the line after it. */
export interface Listed {
  readonly name: string;
  readonly node: Node;
  readonly next: bigint;
}

export class FolderNode extends BaseNode {
  readonly filetype = FILETYPE.directory;
  readonly size = 0;
  /** `null` for the root, whose parent is itself. */
  parent: FolderNode | null = null;
  /** In the order of their cookies. */
  readonly #entries = new Map<string, { readonly node: Node; readonly cookie: bigint }>();
  #nextCookie = FIRST_COOKIE;

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  get(name: string): Node | null {
    return this.#entries.get(name)?.node ?? null;
  }

  /** Gives a node a name here, which is free. */
  add(name: string, node: Node, nowNs: bigint): void {
    this.#entries.set(name, { node, cookie: this.#nextCookie++ });
    if (node instanceof FolderNode) node.parent = this;
    node.links += 1;
    node.changedNs = nowNs;
    this.touch(nowNs);
  }

  remove(name: string, nowNs: bigint): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    entry.node.links -= 1;
    entry.node.changedNs = nowNs;
    this.touch(nowNs);
  }

  /** The list from a cookie on. A removed entry leaves the cookies of the others unchanged. */
  *list(from: bigint): Generator<Listed, void> {
    if (from <= 0n) yield { name: ".", node: this, next: 1n };
    if (from <= 1n) yield { name: "..", node: this.parent ?? this, next: FIRST_COOKIE };
    for (const [name, { node, cookie }] of this.#entries) {
      if (cookie >= from) yield { name, node, next: cookie + 1n };
    }
  }
}

/** Whether a folder is another one, or inside of it. */
export function isWithin(inner: FolderNode, outer: FolderNode): boolean {
  for (let node: FolderNode | null = inner; node !== null; node = node.parent) if (node === outer) return true;
  return false;
}
