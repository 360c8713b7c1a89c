import { createRequire } from "node:module";
import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { cacheHome, makeOwn } from "../../kernel/base/os/own-folder.ts";
import { zonesVersion } from "./zones.ts";

/** Version of the image format, part of an image's name: increase it when the format changes. */
const FORMAT = 4;

/** Paths of the prepared interpreter; known before it is built. */
export interface PythonPlace {
  /** The folder of all images, readable for the executor process. */
  readonly cache: string;
  /** The folder of this version's image. */
  readonly image: string;
}

let place: PythonPlace | null = null;

/**
 * `null` if Pyodide is not installed or no folder is writable: the next call looks again. Creates the folder of images if
 * needed.
 */
export function pythonPlace(): PythonPlace | null {
  if (place === null) {
    const pyodide = findPyodide();
    const name = pyodide === null ? "" : `python-${hashOf(pyodide)}`;
    const cache = pyodide === null ? null : cacheFolder(name);
    place = cache === null ? null : { cache, image: path.join(cache, name) };
  }
  return place;
}

/** Hash of all inputs of an image. */
function hashOf(pyodide: string): string {
  const hash = createHash("sha256").update(
    `${FORMAT} ${zonesVersion()} ${readFileSync(path.join(pyodide, "package.json"), "utf8")}`,
  );
  const root = guestFolder("");
  for (const file of readdirSync(root, { recursive: true, encoding: "utf8" }).sort()) {
    if (/\.(?:ts|js|py|bin)$/.test(file)) hash.update(`\0${file}\0`).update(readFileSync(path.join(root, file)));
  }
  return hash.digest("hex").slice(0, 32);
}

/** The guest's Python sources. */
export function guestFolder(folder: string): string {
  return fileURLToPath(new URL(`../guest/${folder}`, import.meta.url));
}

/**
 * Only the user may write there, because its content is executed. It may be read-only only if it already contains the
 * image.
 */
function cacheFolder(image: string): string | null {
  try {
    const named = path.join(cacheHome(), "glovebox");
    if (makeOwn(named)) {
      // Resolved now, because a link may change its target later.
      const folder = realpathSync(named);
      if (!existsSync(path.join(folder, image))) accessSync(folder, constants.W_OK);
      return folder;
    }
  } catch {
    // The user has no writable home.
  }
  try {
    const folder = mkdtempSync(path.join(tmpdir(), "glovebox-cache-"));
    // Removed at exit, because its name is random and no later process would find it.
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    return folder;
  } catch {
    return null;
  }
}

/** The folder of Pyodide, an optional package; `null` if it is not installed. */
export function findPyodide(): string | null {
  try {
    return path.dirname(createRequire(import.meta.url).resolve("pyodide"));
  } catch {
    return null;
  }
}
