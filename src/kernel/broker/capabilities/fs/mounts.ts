import { realpathSync, statSync } from "node:fs";
import path from "node:path";
import { faultOf, type GrantKind, type GrantSource } from "../capability.ts";
import { FS_LIMITS } from "./limits.ts";

/** Name of the mount whose folder is the call's own: empty at its first use, removed when the call ends. */
export const SCRATCH = "scratch";

/** A folder of the host as a tool sees it. */
export interface Mount {
  readonly mode: "ro" | "rw";
  /** Real path of the folder; `null` in requests of tools, and for the scratch folder of each call. */
  readonly path: string | null;
}

/** Mounts by name. */
export type Mounts = ReadonlyMap<string, Mount>;

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const NAME_SHOWN = 64;

/** Grants of `fs`: tools request mounts by name and mode, and the policy sets their folders. */
export const mountGrants: GrantKind<Mounts> = {
  read(value, side) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new TypeError(": is an object of mounts, each with a mode");
    }
    const entries = Object.entries(value);
    if (entries.length > FS_LIMITS.mounts) throw new TypeError(`: has at most ${FS_LIMITS.mounts} mounts`);
    return new Map(entries.map(([name, mount]) => [name, readMount(name, mount, side)]));
  },

  meet(asked, allowed) {
    const both = new Map<string, Mount>();
    for (const [name, { mode }] of asked) {
      const mount = allowed.get(name);
      if (mount === undefined) continue;
      both.set(name, { mode: mode === "ro" ? "ro" : mount.mode, path: mount.path });
    }
    return both.size === 0 ? null : both;
  },

  uncovered(asked, granted) {
    const given = mergeMounts(granted);
    return [...asked].flatMap(([name, { mode }]) => {
      const mount = given.get(name);
      const isCovered = mount !== undefined && (mode === "ro" || mount.mode === "rw");
      return isCovered ? [] : [{ pointer: `/${name}`, asked: `"${name}" (${mode})` }];
    });
  },

  describe: (mounts) => [...mounts].map(([name, { mode }]) => `"${name}" (${mode})`).join(", "),
};

/**
 * Union of several grants. If two mounts have the same name but different folders, the first one wins; the same
 * folder is writable if one of them is.
 */
export function mergeMounts(grants: readonly Mounts[]): Mounts {
  const merged = new Map<string, Mount>();
  for (const [name, mount] of grants.flatMap((mounts) => [...mounts])) {
    const known = merged.get(name);
    if (known === undefined || (known.path === mount.path && mount.mode === "rw")) merged.set(name, mount);
  }
  return merged;
}

function readMount(name: string, value: unknown, side: GrantSource): Mount {
  const pointer = `/${name.slice(0, NAME_SHOWN)}`;
  if (!NAME.test(name)) {
    throw new TypeError(`${pointer}: the name of a mount has 1 to 64 letters, digits, hyphens and underscores`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError(`${pointer}: is a mount, an object with a mode`);
  }
  const { mode, path: folder } = value as { readonly mode?: unknown; readonly path?: unknown };
  if (mode !== "ro" && mode !== "rw") throw new TypeError(`${pointer}/mode: ${faultOf(mode, 'is "ro" or "rw"')}`);
  if (side !== "policy") {
    if (folder === undefined) return { mode, path: null };
    throw new TypeError(`${pointer}/path: is allowed only in a policy rule; tools and calls name mounts without paths`);
  }
  if (name !== SCRATCH) return { mode, path: readFolder(folder, `${pointer}/path`) };
  if (folder === undefined) return { mode, path: null };
  throw new TypeError(`${pointer}/path: is not allowed; "${SCRATCH}" is a new folder for each call`);
}

/** Real path of a folder that a policy names. Throws a `TypeError` for the operator, with the folder's path. */
export function readFolder(folder: unknown, pointer: string): string {
  if (typeof folder !== "string" || folder === "" || folder.includes("\0")) {
    throw new TypeError(`${pointer}: ${faultOf(folder, "is the path of a folder")}`);
  }
  const absolute = path.resolve(folder);
  try {
    const real = realpathSync.native(absolute);
    if (statSync(real).isDirectory()) return real;
  } catch (error) {
    throw new TypeError(`${pointer}: there is no folder ${absolute}`, { cause: error });
  }
  throw new TypeError(`${pointer}: ${absolute} is not a folder`);
}
