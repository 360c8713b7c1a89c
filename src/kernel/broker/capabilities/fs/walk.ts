import { readlink } from "node:fs/promises";
import path from "node:path";
import { child, type FileHolder, type HeldFile } from "./file-holder.ts";
import { FS_LIMITS } from "./limits.ts";
import { codeOf, SystemError } from "./system-error.ts";

/** Target of a path: a name in a held folder, and the held file or folder of that name. */
export interface PathTarget extends AsyncDisposable {
  /** Names below the mount, without links. */
  readonly names: readonly string[];
  /** `null` if the target is the mount's own folder. */
  readonly folder: HeldFile | null;
  readonly name: string;
  /** `null` if nothing of that name exists. */
  readonly held: HeldFile | null;
}

/** Options of a walk. */
export interface WalkOptions {
  readonly holder: FileHolder;
  /** Path on the host of the mount's folder. */
  readonly root: string;
  /** Whether a link at the end of the path is followed. */
  readonly follows: boolean;
  readonly signal: AbortSignal;
  /** Makes the error for a link that leads out of the mount. */
  readonly escape: () => Error;
}

/** Names of the path to restart with after a link. */
type PathNames = readonly string[];
type WalkStep = { readonly target: Omit<PathTarget, "names"> } | { readonly detour: PathNames };

/**
 * Walks a path inside a mount, holding one folder after the other, so that swapping a folder cannot redirect the walk.
 * Links are resolved here, as names below the mount; the system follows no link.
 */
export async function walk(names: readonly string[], options: WalkOptions): Promise<PathTarget> {
  let ahead = names;
  for (let links = 0; links <= FS_LIMITS.links; links++) {
    // Links may make a path longer than a tool may write it, but not without bound.
    if (ahead.length > 2 * FS_LIMITS.depth) throw new SystemError("ENAMETOOLONG");
    const found = await follow(ahead, options);
    if ("target" in found) return { ...found.target, names: ahead };
    ahead = found.detour;
  }
  throw new SystemError("ELOOP");
}

async function follow(names: readonly string[], options: WalkOptions): Promise<WalkStep> {
  const { holder, root, follows, signal } = options;
  await using state = new WalkState(await holder.root(root));
  for (const [at, name] of names.entries()) {
    signal.throwIfAborted();
    const [behind, ahead] = [names.slice(0, at), names.slice(at + 1)];
    if (name === "..") return { detour: turn(behind, "..", ahead, options) };
    const target = child(state.folder, name);
    const next = await holdIfThere(holder, target);
    state.next = next;
    if (next?.stats.isSymbolicLink() && (ahead.length > 0 || follows)) {
      return { detour: turn(behind, await readlink(target), ahead, options) };
    }
    if (ahead.length === 0) return { target: state.giveAway(name) };
    if (next === null) throw new SystemError("ENOENT");
    if (!next.stats.isDirectory()) throw new SystemError("ENOTDIR");
    await state.advance(next);
  }
  return { target: state.giveAway(null) };
}

async function holdIfThere(holder: FileHolder, target: string): Promise<HeldFile | null> {
  try {
    return await holder.hold(target);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** Replaces a link by its names below the mount. `behind` contains no links, so `..` can be resolved as text. */
function turn(behind: PathNames, link: string, ahead: PathNames, { root, escape }: WalkOptions): PathNames {
  let start = behind;
  let names = link.split(path.sep);
  if (path.isAbsolute(link)) {
    // An absolute link is a path of the host. It stays inside if it begins with the mount's real folder.
    const below = path.join(root, path.sep);
    if (link !== root && !link.startsWith(below)) throw escape();
    start = [];
    names = link.slice(root.length).split(path.sep);
  }
  names = names.filter((name) => name !== "" && name !== ".");
  while (names[0] === "..") {
    if (start.length === 0) throw escape();
    start = start.slice(0, -1);
    names = names.slice(1);
  }
  return [...start, ...names, ...ahead];
}

/** State of a walk: its current folder, and the entry found there. Both are held. */
class WalkState implements AsyncDisposable {
  folder: HeldFile;
  next: HeldFile | null = null;
  #isEmpty = false;

  constructor(root: HeldFile) {
    this.folder = root;
  }

  async advance(next: HeldFile): Promise<void> {
    const left = this.folder;
    this.folder = next;
    this.next = null;
    await left[Symbol.asyncDispose]();
  }

  /** Hands the held files to the caller, with the last name; `null` for the mount's own folder. */
  giveAway(name: string | null): Omit<PathTarget, "names"> {
    const { folder, next } = this;
    this.#isEmpty = true;
    const held = [folder, next];
    const dispose = async (): Promise<void> => {
      for (const one of held) await one?.[Symbol.asyncDispose]();
    };
    const found = name === null ? { folder: null, name: "", held: folder } : { folder, name, held: next };
    return { ...found, [Symbol.asyncDispose]: dispose };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isEmpty) return;
    await this.next?.[Symbol.asyncDispose]();
    await this.folder[Symbol.asyncDispose]();
  }
}
