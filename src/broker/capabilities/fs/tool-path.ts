import { sep } from "node:path";
import { FS_LIMITS } from "./limits.ts";
import { SystemError } from "./system-error.ts";

/** A path as a tool wrote it, read: `/data/reports/may.txt` is `reports`, `may.txt` in the mount `data`. */
export interface ToolPath {
  /** As the tool wrote it. */
  readonly text: string;
  /** `null` for `/`, which holds the mounts. */
  readonly mount: string | null;
  readonly names: readonly string[];
  /** It ends in a slash: only a folder will do. */
  readonly isFolder: boolean;
}

/**
 * Reads a path. `.` and `..` are taken out by the text alone, before anything is looked up, and `/` is its own parent;
 * paths without a slash in front begin at `/`. Throws a `SystemError` where the path can be none.
 */
export function readPath(text: string): ToolPath {
  if (text === "") throw new SystemError("ENOENT");
  if (text.length > FS_LIMITS.pathLength) throw new SystemError("ENAMETOOLONG");
  // Where a backslash parts names, and a colon parts a drive or a stream from the rest, no name has one.
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
