import { mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

/**
 * The user's folder for reproducible data. Ignores a path that is not absolute, as the XDG specification demands.
 * Throws if the user has no home either.
 */
export function cacheHome(): string {
  const named = process.env["XDG_CACHE_HOME"] ?? "";
  return path.isAbsolute(named) ? named : path.join(homedir(), ".cache");
}

/**
 * Creates a folder if needed. Returns whether it belongs to the user and only the user may write there. Throws if it
 * cannot be created.
 */
export function makeOwn(folder: string): boolean {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(folder);
  return uid === process.getuid?.() && (mode & 0o022) === 0;
}
