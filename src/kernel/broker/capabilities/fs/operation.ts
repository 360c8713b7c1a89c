import type { Stats } from "node:fs";
import { sep } from "node:path";
import { CapabilityRefusal } from "../capability.ts";
import { type Budget, FS_LIMITS, type FsLimits } from "./limits.ts";
import type { FileHolder, HeldFile } from "./file-holder.ts";
import { type Mount, mountGrants, type Mounts, SCRATCH } from "./mounts.ts";
import { SystemError } from "./system-error.ts";
import { type PathTarget, walk } from "./walk.ts";

/** A parsed path of a tool: `/data/reports/may.txt` is `reports`, `may.txt` in the mount `data`. */
interface ToolPath {
  /** The path as the tool wrote it. */
  readonly text: string;
  /** `null` for `/`, the folder of the mounts. */
  readonly mount: string | null;
  readonly names: readonly string[];
  /** Whether the path ends in a slash, a `.` or a `..`, and so must lead to a folder. */
  readonly isFolder: boolean;
}

/**
 * Parses a path. Resolves `.` and `..` in the text, before any lookup; `/` is its own parent, and relative paths begin
 * at `/`. Throws a `SystemError` for an invalid path.
 */
export function readPath(text: string): ToolPath {
  if (text === "") throw new SystemError("ENOENT");
  if (text.length > FS_LIMITS.pathLength) throw new SystemError("ENAMETOOLONG");
  // On Windows, a backslash separates names, and a colon follows a drive or precedes a stream: refuse both.
  if (text.includes("\0") || (sep === "\\" && /[\\:]/.test(text))) throw new SystemError("EINVAL");
  const names: string[] = [];
  for (const name of text.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  const [mount = null, ...rest] = names;
  if (rest.length > FS_LIMITS.depth) throw new SystemError("ENAMETOOLONG");
  return { text, mount, names: rest, isFolder: /(?:^|\/)\.{0,2}$/.test(text) };
}

const PATH_SHOWN = 200;

/** Refusals of one operation, with the paths as the tool wrote them. */
export class FsRefusals {
  readonly #method: string;
  readonly #mounts: Mounts;

  constructor(method: string, mounts: Mounts) {
    this.#method = method;
    this.#mounts = mounts;
  }

  notMounted(path: string, mount: string): CapabilityRefusal {
    const remedy = `add a mount to capabilities.fs of the tool, and with its path to allow.fs of a policy rule`;
    return this.#deny(path, `there is no mount "${mount.slice(0, 64)}"`, remedy);
  }

  readOnly(path: string, mount: string): CapabilityRefusal {
    const remedy = `set the mode of "${mount}" to "rw" in capabilities.fs of the tool, and in allow.fs of a policy rule`;
    return this.#deny(path, `the mount "${mount}" is read-only`, remedy);
  }

  mountsOnly(path: string): CapabilityRefusal {
    return this.#deny(path, "/ holds only the mounts", "write to a mount whose mode is rw");
  }

  leadsOut(path: string, mount: string): CapabilityRefusal {
    const remedy = "mount the folder that the link leads to, or copy its files into this mount";
    return this.#deny(path, `a link leads out of the mount "${mount}"`, remedy);
  }

  special(path: string): CapabilityRefusal {
    const why = "the path is neither a file nor a folder";
    return this.#deny(path, why, "use a file: devices, pipes and sockets are never granted");
  }

  /** Refusal if a limit of the capability is exceeded. */
  beyond(path: string, granted: string, remedy: string): CapabilityRefusal {
    return new CapabilityRefusal("limit", `fs.${this.#method} exceeds a limit`, {
      asked: this.#asked(path),
      granted,
      remedy,
    });
  }

  #deny(path: string, why: string, remedy: string): CapabilityRefusal {
    const granted = `fs ${mountGrants.describe(this.#mounts)}`;
    return new CapabilityRefusal("denied", why, { asked: this.#asked(path), granted, remedy });
  }

  #asked(path: string): string {
    const shown = path.length > PATH_SHOWN ? `${path.slice(0, PATH_SHOWN)}…` : path;
    return `fs.${this.#method} of ${shown}`;
  }
}

/** A call's state in the capability. */
export interface FsCall {
  readonly mounts: Mounts;
  readonly limits: FsLimits;
  readonly budget: Budget;
  readonly holder: FileHolder;
  /** Owner of the open files of one walk from a mount's folder. */
  readonly holderOf: (mount: Mount, root: string) => FileHolder;
  readonly signal: AbortSignal;
  /** Path on the host of a mount's folder. */
  readonly folderOf: (mount: Mount) => Promise<string>;
}

/** Kind of a directory entry, as reported to the tool. */
export type FileKind = "file" | "folder" | "link" | "other";

/** A place in a mount, and the path that led there. */
export interface MountTarget extends PathTarget {
  readonly path: ToolPath;
  readonly mount: string;
}

/** One operation of a call. All its access to a mount begins with a method of this class. */
export class FsOperation {
  readonly call: FsCall;
  readonly refuse: FsRefusals;

  constructor(call: FsCall, refuse: FsRefusals) {
    this.call = call;
    this.refuse = refuse;
  }

  /** Resolves a path for reading; `null` for `/`, the folder of the mounts. */
  async find(text: string, follows: boolean): Promise<MountTarget | null> {
    const path = readPath(text);
    return path.mount === null ? null : this.#walk(path, path.mount, follows);
  }

  /** Resolves a path for writing. */
  async claim(text: string, follows: boolean): Promise<MountTarget> {
    const path = readPath(text);
    if (path.mount === null) throw this.refuse.mountsOnly(text);
    const mode = this.call.mounts.get(path.mount)?.mode;
    if (mode === "ro") throw this.refuse.readOnly(text, path.mount);
    return this.#walk(path, path.mount, follows);
  }

  /** Counts bytes before they are read or written. */
  spend(path: string, bytes: number): void {
    const { budget, limits, signal } = this.call;
    signal.throwIfAborted();
    if (budget.spend(bytes)) return;
    throw this.refuse.beyond(path, `${limits.callBytes} bytes read and written in a call`, "read and write less");
  }

  /** Counts bytes before a file grows by them. */
  spendWritten({ mount, path }: MountTarget, bytes: number): void {
    this.spend(path.text, bytes);
    const { budget, limits } = this.call;
    if (mount !== SCRATCH || budget.spendScratch(bytes)) return;
    const granted = `${limits.scratchBytesInAll} bytes in the scratch folders of all calls together`;
    throw this.refuse.beyond(
      path.text,
      granted,
      "write less, write to another mount, or try again when other calls have ended",
    );
  }

  /** Counts a file or folder before it is created. */
  countNew({ mount, path }: MountTarget): void {
    const { budget, limits } = this.call;
    if (mount !== SCRATCH || budget.makeScratchEntry()) return;
    const granted = `${limits.scratchEntries} files and folders made in ${SCRATCH} in a call`;
    throw this.refuse.beyond(path.text, granted, "make fewer, or make them in another mount");
  }

  async #walk(path: ToolPath, name: string, follows: boolean): Promise<MountTarget> {
    const { mounts, holderOf, signal, folderOf } = this.call;
    const mount = mounts.get(name);
    if (mount === undefined) throw this.refuse.notMounted(path.text, name);
    const root = await folderOf(mount);
    const target = await walk(path.names, {
      holder: holderOf(mount, root),
      root,
      follows: follows || path.isFolder,
      signal,
      escape: () => this.refuse.leadsOut(path.text, name),
    });
    if (!path.isFolder || target.held === null || target.held.stats.isDirectory())
      return { ...target, path, mount: name };
    await target[Symbol.asyncDispose]();
    throw new SystemError("ENOTDIR");
  }
}

/** The file or folder at a target. Throws `ENOENT` if none exists. */
export function requireFound({ held }: MountTarget): HeldFile {
  if (held === null) throw new SystemError("ENOENT");
  return held;
}

/** The regular file at a target: no other kind can be read or written. */
export function requireFile(operation: FsOperation, target: MountTarget): HeldFile {
  const held = requireFound(target);
  if (held.stats.isDirectory()) throw new SystemError("EISDIR");
  if (!held.stats.isFile()) throw operation.refuse.special(target.path.text);
  return held;
}

/**
 * Parent folder and name of a place, for creating, renaming or removing it. Throws `EBUSY` for a mount's own folder.
 */
export function parentEntryOf(target: MountTarget): { readonly folder: HeldFile; readonly name: string } {
  if (target.folder === null) throw new SystemError("EBUSY");
  return { folder: target.folder, name: target.name };
}

export function kindOf(stats: Pick<Stats, "isFile" | "isDirectory" | "isSymbolicLink">): FileKind {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "folder";
  return stats.isSymbolicLink() ? "link" : "other";
}
