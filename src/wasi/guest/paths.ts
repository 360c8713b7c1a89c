import { ERRNO, WasiError } from "./abi.ts";
import { FolderNode, LinkNode, type Node } from "./nodes.ts";

/** Maximum lengths of a path and of a name, in characters, and maximum number of links that a path leads through. */
const PATH_MAX = 4096;
const NAME_MAX = 255;
const LINKS_MAX = 40;

/** The place that a path names. */
export interface Place {
  readonly folder: FolderNode;
  /** Its name in the folder; `null` for the folder itself, as of `.`. */
  readonly name: string | null;
  /** `null` if no node has that name. */
  readonly node: Node | null;
  /** Whether a slash ends the path, or a dot after it: it can name only a folder. */
  readonly endsInSlash: boolean;
}

/** A place with a name: one that can be made, moved or removed. */
export interface NamedPlace extends Place {
  readonly name: string;
}

/**
 * Finds the node of a path, below a folder that no part of it may leave. `follows`: whether a link at its end is
 * followed. Throws a `WasiError`.
 */
export function findPlace(base: FolderNode, path: string, follows: boolean): Place {
  const folders = [base];
  // The next name is at the end.
  const names = namesOf(path);
  const endsInSlash = path.endsWith("/") || path.endsWith("/.");
  let links = 0;
  for (;;) {
    const folder = folders.at(-1) ?? base;
    const name = names.pop();
    if (name === undefined) return { folder, name: null, node: folder, endsInSlash };
    if (name === "..") {
      if (folders.length === 1) throw new WasiError(ERRNO.notcapable);
      folders.pop();
      continue;
    }
    const node = folder.get(name);
    const isLast = names.length === 0;
    if (node instanceof LinkNode && (follows || !isLast)) {
      links += 1;
      if (links > LINKS_MAX) throw new WasiError(ERRNO.loop);
      names.push(...namesOf(node.target));
      continue;
    }
    if (isLast && endsInSlash && node !== null && !(node instanceof FolderNode)) throw new WasiError(ERRNO.notdir);
    // Nothing can be made in a folder that was removed.
    if (isLast && folder.links === 0) throw new WasiError(ERRNO.noent);
    if (isLast) return { folder, name, node, endsInSlash };
    if (node === null) throw new WasiError(ERRNO.noent);
    if (!(node instanceof FolderNode)) throw new WasiError(ERRNO.notdir);
    folders.push(node);
  }
}

/** Finds a node. Throws a `WasiError` if the path does not exist. */
export function findNode(base: FolderNode, path: string, follows: boolean): Node {
  const { node } = findPlace(base, path, follows);
  if (node === null) throw new WasiError(ERRNO.noent);
  return node;
}

/** Finds the place of a name, which may be free. Links at its end are not followed. */
export function findNamed(base: FolderNode, path: string): NamedPlace {
  const { name, ...place } = findPlace(base, path, false);
  if (name === null) throw new WasiError(ERRNO.inval);
  return { ...place, name };
}

/** Refuses a link that leaves its own folder: an absolute one, or one that begins with `..`. */
export function checkTarget(target: string): void {
  let depth = 0;
  for (const name of namesOf(target).reverse()) {
    depth += name === ".." ? -1 : 1;
    if (depth < 0) throw new WasiError(ERRNO.notcapable);
  }
}

/** Names of a path, the first at the end. */
function namesOf(path: string): string[] {
  if (path.length > PATH_MAX) throw new WasiError(ERRNO.nametoolong);
  if (path === "") throw new WasiError(ERRNO.noent);
  if (path.startsWith("/")) throw new WasiError(ERRNO.notcapable);
  if (path.includes("\0")) throw new WasiError(ERRNO.inval);
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.some((name) => name.length > NAME_MAX)) throw new WasiError(ERRNO.nametoolong);
  return names.reverse();
}
