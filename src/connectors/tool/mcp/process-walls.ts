import { isObject } from "../../../kernel/base/json.ts";
import { readFolder } from "../../../kernel/broker/capabilities/fs/mounts.ts";
import type { McpFolder } from "./server.ts";

/**
 * Folders of the host that a server sees, by their absolute paths inside. Only a mode: the host's folder of the same
 * path.
 */
export interface ProcessFolders {
  readonly [path: string]: "ro" | "rw" | McpFolder;
}

/** Parts of the machine that a server sees as a process, in addition to its programs. */
export interface ProcessWalls {
  readonly folders: readonly (readonly [inside: string, folder: McpFolder])[];
  readonly network: boolean;
  readonly sandbox: "require" | "off";
}

export const WALLS = ["folders", "network", "sandbox"] as const;

const FOLDERS_MAX = 32;
const PATH = /^(?:\/[^/\0]{1,255}){1,32}$/;
/** Folders of the sandbox itself, which no folder hides. */
const TAKEN = ["/proc", "/dev", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"];

/** Throws a `TypeError` that names the option. */
export function resolveWalls(where: string, options: Readonly<Record<string, unknown>>): ProcessWalls {
  const { folders = {}, network = false, sandbox = "require" } = options;
  if (typeof network !== "boolean") throw new TypeError(`${where}.network must be true or false`);
  if (sandbox !== "require" && sandbox !== "off") throw new TypeError(`${where}.sandbox must be "require" or "off"`);
  if (!isObject(folders) || Object.keys(folders).length > FOLDERS_MAX) {
    throw new TypeError(
      `${where}.folders must be an object of at most ${FOLDERS_MAX} folders, such as { "/data": "ro" }`,
    );
  }
  return {
    folders: Object.entries(folders).map(([inside, folder]) => [inside, resolveFolder(where, inside, folder)]),
    network,
    sandbox,
  };
}

function resolveFolder(where: string, inside: string, given: unknown): McpFolder {
  const option = `${where}.folders[${JSON.stringify(inside.slice(0, 64))}]`;
  const isPlain = PATH.test(inside) && !inside.split("/").some((part) => part === "." || part === "..");
  if (!isPlain) throw new TypeError(`${option}: the path of a folder inside is absolute, without . and ..`);
  if (TAKEN.some((path) => inside === path || inside.startsWith(`${path}/`))) {
    throw new TypeError(`${option}: the sandbox has this folder itself`);
  }
  const { path, mode } = isObject(given) ? given : { path: inside, mode: given };
  if (mode !== "ro" && mode !== "rw") throw new TypeError(`${option} must be "ro", "rw" or { path, mode }`);
  return { path: readFolder(path, option), mode };
}
