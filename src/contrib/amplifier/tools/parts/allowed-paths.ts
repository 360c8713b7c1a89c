import { described, texts, type Config } from "./amplifier.ts";
import type { Files } from "./host.ts";

/**
 * `allowed_paths` of a config: folders whose files may be used. An empty list allows all mounted folders. Mounts are
 * the security boundary; this only narrows them.
 */
export class AllowedPaths {
  readonly #folders: readonly string[];

  constructor(config: Config) {
    this.#folders = texts(config, "allowed_paths", []);
  }

  /** Path without links and dots, which the caller must use instead; `null` if it is not allowed. */
  async resolve(files: Files, path: string): Promise<string | null> {
    if (this.#folders.length === 0) return path;
    const real = await resolved(files, path);
    if (real === null) return null;
    for (const folder of this.#folders) {
      const allowed = await resolved(files, folder);
      if (allowed !== null && isWithin(real, allowed)) return real;
    }
    return null;
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** Resolves a path as far as it exists; `null` if the host denies it. */
async function resolved(files: Files, path: string): Promise<string | null> {
  const names = namesOf(path);
  for (let known = names.length; known >= 0; known--) {
    try {
      const real = await files.realpath(`/${names.slice(0, known).join("/")}`, { missing: true });
      return `/${[...namesOf(real), ...names.slice(known)].join("/")}`;
    } catch (error) {
      const { type } = described(error);
      if (type === "PermissionError") return null;
      // Missing, or a file in place of a folder: resolve the parent instead.
      if (type !== "FileNotFoundError" && type !== "NotADirectoryError") throw error;
    }
  }
  return null;
}

function namesOf(path: string): string[] {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return names;
}
