import { encodeUtf8 } from "../../kernel/guest/web/utf8.ts";
import { ERRNO, FDFLAGS, LOOKUP_FOLLOW, OFLAG, RIGHT, WasiError } from "./abi.ts";
import { type Descriptor, type Descriptors, OpenFile, OpenFolder } from "./descriptors.ts";
import type { FunctionParts } from "./descriptor-functions.ts";
import type { CallFiles } from "./files.ts";
import type { Memory } from "./memory.ts";
import { FolderNode, isWithin, LinkNode, type Node } from "./nodes.ts";
import { checkTarget, findNamed, findNode, findPlace, type NamedPlace, type Place } from "./paths.ts";
import { type SetTimes, setTimes, writeFilestat } from "./stat.ts";

/** A path as a command passes it. */
interface PassedPath {
  readonly fd: number;
  readonly at: number;
  readonly length: number;
}

/** How a command opens a path. */
interface Opening {
  readonly lookup: number;
  readonly oflags: number;
  readonly rights: bigint;
  readonly inheriting: bigint;
  readonly flags: number;
}

/** The functions of WASI for paths. One that fails throws a `WasiError`. */
export class PathFunctions {
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
      path_create_directory: (fd: number, at: number, length: number) => this.#createFolder({ fd, at, length }),
      path_filestat_get: (fd: number, lookup: number, at: number, length: number, to: number) =>
        this.#stat({ fd, at, length }, lookup, to),
      path_filestat_set_times: (
        fd: number,
        lookup: number,
        at: number,
        length: number,
        accessed: bigint,
        modified: bigint,
        flags: number,
      ) => this.#setTimes({ fd, at, length }, lookup, { accessed, modified, flags }),
      path_link: (
        fd: number,
        lookup: number,
        at: number,
        length: number,
        toFd: number,
        toAt: number,
        toLength: number,
      ) => this.#link({ fd, at, length }, lookup, { fd: toFd, at: toAt, length: toLength }),
      path_open: (
        fd: number,
        lookup: number,
        at: number,
        length: number,
        oflags: number,
        rights: bigint,
        inheriting: bigint,
        flags: number,
        to: number,
      ) => this.#open({ fd, at, length }, { lookup, oflags, rights, inheriting, flags }, to),
      path_readlink: (fd: number, at: number, length: number, to: number, toLength: number, usedTo: number) =>
        this.#readLink({ fd, at, length }, to, toLength, usedTo),
      path_remove_directory: (fd: number, at: number, length: number) => this.#removeFolder({ fd, at, length }),
      path_rename: (fd: number, at: number, length: number, toFd: number, toAt: number, toLength: number) =>
        this.#rename({ fd, at, length }, { fd: toFd, at: toAt, length: toLength }),
      path_symlink: (targetAt: number, targetLength: number, fd: number, at: number, length: number) =>
        this.#symlink(targetAt, targetLength, { fd, at, length }),
      path_unlink_file: (fd: number, at: number, length: number) => this.#unlink({ fd, at, length }),
    };
  }

  #base(path: PassedPath, right: bigint): readonly [base: FolderNode, path: string] {
    const { node } = this.#descriptors.folder(path.fd, right);
    return [node, this.#memory.text(path.at, path.length)];
  }

  #named(path: PassedPath, right: bigint): NamedPlace {
    return findNamed(...this.#base(path, right));
  }

  #node(path: PassedPath, right: bigint, lookup: number): Node {
    return findNode(...this.#base(path, right), (lookup & LOOKUP_FOLLOW) !== 0);
  }

  #createFolder(path: PassedPath): void {
    const { folder, name, node } = this.#named(path, RIGHT.pathCreateFolder);
    if (node !== null) throw new WasiError(ERRNO.exist);
    folder.add(name, this.#files.createFolder(), this.#files.nowNs);
  }

  #stat(path: PassedPath, lookup: number, to: number): void {
    const node = this.#node(path, RIGHT.pathStat, lookup);
    writeFilestat(this.#memory, to, node, node.filetype);
  }

  #setTimes(path: PassedPath, lookup: number, times: SetTimes): void {
    setTimes(this.#node(path, RIGHT.pathSetTimes, lookup), times, this.#files.nowNs);
  }

  #link(from: PassedPath, lookup: number, to: PassedPath): void {
    const node = this.#node(from, RIGHT.pathLinkSource, lookup);
    const place = this.#named(to, RIGHT.pathLinkTarget);
    if (place.node !== null) throw new WasiError(ERRNO.exist);
    if (node instanceof FolderNode) throw new WasiError(ERRNO.perm);
    if (place.endsInSlash) throw new WasiError(ERRNO.noent);
    this.#files.takeName();
    place.folder.add(place.name, node, this.#files.nowNs);
  }

  #open(path: PassedPath, opening: Opening, to: number): void {
    const parent = this.#descriptors.folder(path.fd, RIGHT.pathOpen);
    if ((opening.oflags & OFLAG.create) !== 0) parent.need(RIGHT.pathCreateFile);
    if ((opening.oflags & OFLAG.truncate) !== 0) parent.need(RIGHT.pathSetSize);
    const text = this.#memory.text(path.at, path.length);
    const place = findPlace(parent.node, text, (opening.lookup & LOOKUP_FOLLOW) !== 0);
    const rights = BigInt.asUintN(64, opening.rights) & parent.inheriting;
    const inheriting = BigInt.asUintN(64, opening.inheriting) & parent.inheriting;
    const descriptor = this.#descriptorOf(this.#nodeToOpen(place, opening.oflags), opening, rights, inheriting);
    descriptor.flags = opening.flags & FDFLAGS;
    this.#memory.setU32(to, this.#descriptors.add(descriptor));
  }

  #nodeToOpen({ folder, name, node, endsInSlash }: Place, oflags: number): Node {
    if (node !== null) {
      if ((oflags & OFLAG.create) !== 0 && (oflags & OFLAG.exclusive) !== 0) throw new WasiError(ERRNO.exist);
      return node;
    }
    if ((oflags & OFLAG.create) === 0 || name === null) throw new WasiError(ERRNO.noent);
    // As in POSIX, a folder is made by `path_create_directory` alone.
    if ((oflags & OFLAG.directory) !== 0) throw new WasiError(ERRNO.inval);
    if (endsInSlash) throw new WasiError(ERRNO.isdir);
    const file = this.#files.createFile();
    folder.add(name, file, this.#files.nowNs);
    return file;
  }

  #descriptorOf(node: Node, { oflags }: Opening, rights: bigint, inheriting: bigint): Descriptor {
    if (node instanceof LinkNode) throw new WasiError(ERRNO.loop);
    if (node instanceof FolderNode) {
      const writes = (oflags & OFLAG.truncate) !== 0 || (rights & RIGHT.fdWrite) !== 0n;
      if (writes) throw new WasiError(ERRNO.isdir);
      return new OpenFolder(node, rights, inheriting);
    }
    if ((oflags & OFLAG.directory) !== 0) throw new WasiError(ERRNO.notdir);
    if ((oflags & OFLAG.truncate) !== 0) {
      node.resize(0n);
      node.touch(this.#files.nowNs);
    }
    return new OpenFile(node, rights);
  }

  /** Cuts off the rest that does not fit. */
  #readLink(path: PassedPath, to: number, length: number, usedTo: number): void {
    const node = this.#node(path, RIGHT.pathReadlink, 0);
    if (!(node instanceof LinkNode)) throw new WasiError(ERRNO.inval);
    const bytes = this.#memory.bytes(to, length);
    const part = encodeUtf8(node.target).subarray(0, bytes.length);
    bytes.set(part);
    this.#memory.setU32(usedTo, part.length);
  }

  #removeFolder(path: PassedPath): void {
    const { folder, name, node } = this.#named(path, RIGHT.pathRemoveFolder);
    if (node === null) throw new WasiError(ERRNO.noent);
    if (!(node instanceof FolderNode)) throw new WasiError(ERRNO.notdir);
    if (!node.isEmpty) throw new WasiError(ERRNO.notempty);
    folder.remove(name, this.#files.nowNs);
  }

  #unlink(path: PassedPath): void {
    const { folder, name, node } = this.#named(path, RIGHT.pathUnlinkFile);
    if (node === null) throw new WasiError(ERRNO.noent);
    if (node instanceof FolderNode) throw new WasiError(ERRNO.isdir);
    folder.remove(name, this.#files.nowNs);
  }

  #symlink(targetAt: number, targetLength: number, path: PassedPath): void {
    const target = this.#memory.text(targetAt, targetLength);
    const { folder, name, node, endsInSlash } = this.#named(path, RIGHT.pathSymlink);
    checkTarget(target);
    if (node !== null) throw new WasiError(ERRNO.exist);
    if (endsInSlash) throw new WasiError(ERRNO.noent);
    folder.add(name, this.#files.createLink(target, targetLength >>> 0), this.#files.nowNs);
  }

  #rename(from: PassedPath, to: PassedPath): void {
    const source = this.#named(from, RIGHT.pathRenameSource);
    const target = this.#named(to, RIGHT.pathRenameTarget);
    const { node } = source;
    if (node === null) throw new WasiError(ERRNO.noent);
    if (node === target.node) return;
    if (node instanceof FolderNode) {
      if (isWithin(target.folder, node)) throw new WasiError(ERRNO.inval);
      if (target.node !== null && !(target.node instanceof FolderNode)) throw new WasiError(ERRNO.notdir);
      if (target.node !== null && !target.node.isEmpty) throw new WasiError(ERRNO.notempty);
    } else {
      if (target.node instanceof FolderNode) throw new WasiError(ERRNO.isdir);
      if (target.endsInSlash) throw new WasiError(ERRNO.notdir);
    }
    const { nowNs } = this.#files;
    if (target.node !== null) target.folder.remove(target.name, nowNs);
    source.folder.remove(source.name, nowNs);
    target.folder.add(target.name, node, nowNs);
  }
}
