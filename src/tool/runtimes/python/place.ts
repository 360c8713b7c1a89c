import { createRequire } from "node:module";
import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** Part of an image's name: to be changed where what is in it changes its form. */
const FORMAT = 2;

/** Where Python lies, ready to be started; known before it is there. */
export interface PythonPlace {
  /** The folder of all images: the executor process may read it. */
  readonly cache: string;
  /** That of the image that belongs to this version. */
  readonly image: string;
}

let place: PythonPlace | null | undefined;

/** `null` where Pyodide is not installed, or nothing can be written anywhere. Makes the folder of images where there is none. */
export function pythonPlace(): PythonPlace | null {
  if (place === undefined) {
    const pyodide = findPyodide();
    const name = pyodide === null ? "" : `python-${hashOf(pyodide)}`;
    const cache = pyodide === null ? null : cacheFolder(name);
    place = cache === null ? null : { cache, image: path.join(cache, name) };
  }
  return place;
}

/** Of all that an image is made of. */
function hashOf(pyodide: string): string {
  const hash = createHash("sha256").update(`${FORMAT} ${readFileSync(path.join(pyodide, "package.json"), "utf8")}`);
  const root = guestFolder("");
  for (const file of readdirSync(root, { recursive: true, encoding: "utf8" }).sort()) {
    if (/\.(?:ts|js|py)$/.test(file)) hash.update(`\0${file}\0`).update(readFileSync(path.join(root, file)));
  }
  return hash.digest("hex").slice(0, 32);
}

/** The guest's part of Python. */
export function guestFolder(folder: string): string {
  return fileURLToPath(new URL(`../../../guest/python/${folder}`, import.meta.url));
}

/** Nobody else may write there: what lies in it is run. It may be read only where the image lies in it already. */
function cacheFolder(image: string): string | null {
  try {
    const named = path.join(cacheHome(), "glovebox");
    if (makeOwn(named)) {
      // Where a link leads now: it may lead elsewhere later.
      const folder = realpathSync(named);
      if (!existsSync(path.join(folder, image))) accessSync(folder, constants.W_OK);
      return folder;
    }
  } catch {
    // There is no home to be written to.
  }
  try {
    const folder = mkdtempSync(path.join(tmpdir(), "glovebox-cache-"));
    // Nobody would find it again.
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    return folder;
  } catch {
    return null;
  }
}

/** Makes a folder where there is none: whether it is the user's, and nobody else may write there. Throws where it cannot be made. */
export function makeOwn(folder: string): boolean {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(folder);
  return uid === process.getuid?.() && (mode & 0o022) === 0;
}

/** A path that is not absolute counts as none. Throws where the user has no home either. */
function cacheHome(): string {
  const named = process.env["XDG_CACHE_HOME"] ?? "";
  return path.isAbsolute(named) ? named : path.join(homedir(), ".cache");
}

/** Where Pyodide is installed: it is optional. `null` where it is not. */
export function findPyodide(): string | null {
  try {
    return path.dirname(createRequire(import.meta.url).resolve("pyodide"));
  } catch {
    return null;
  }
}
