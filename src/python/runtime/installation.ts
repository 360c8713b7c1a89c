import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import type { PythonFile, PythonScript } from "./python-file.ts";
import { SCRIPT_BYTES_MAX } from "./python-file.ts";
import { checkLibraries, LIBRARIES_FOLDER, type Libraries, type Library } from "./libraries.ts";
import { LOCK, type LockedPackage, type PyodideLock } from "./pyodide-lock.ts";
import { isHashed, type Requirement } from "./requirement.ts";
import { type Choice, resolve, type Stock } from "./resolution.ts";
import type { Wheels } from "./wheels.ts";

const FILES_MAX = 10_000;
/** Requirements are hostile input, and a build process waits for them. */
const COMPARISONS_MAX = 100_000;

/** The packages that meet the requirements. */
export interface Installation {
  readonly packages: PythonScript["packages"];
  /** Machine code, by its path among the packages. */
  readonly libraries: Libraries;
}

export const NOTHING: Installation = { packages: {}, libraries: new Map() };

/**
 * Resolves requirements to wheels in the operator's folder, including their dependencies. Rejects with a `PackageError`
 * that names the missing package and the package that requires it.
 */
export async function install(asked: readonly Requirement[], wheels: Wheels): Promise<Installation> {
  if (asked.length === 0) return NOTHING;
  const stock = await open(wheels, asked.some(isHashed));
  const choices = await resolve(asked, stock);
  const libraries = new Map(choices.flatMap(({ wheel }) => [...wheel.libraries]));
  for (const [file, library] of await sharedOf(choices, stock.lock, wheels)) {
    libraries.set(`${LIBRARIES_FOLDER}/${file}`, library);
  }
  checkLibraries(libraries);
  return { packages: merged(choices), libraries };
}

async function open(wheels: Wheels, isClosed: boolean): Promise<Stock> {
  const [listed, lock] = await Promise.all([wheels.list(), wheels.lock()]);
  return {
    place: "folder",
    lock,
    isClosed,
    maxComparisons: COMPARISONS_MAX,
    maxCharacters: SCRIPT_BYTES_MAX,
    list: (name) => listed.get(name) ?? [],
    read: (name) => wheels.read(name),
  };
}

/** The libraries that a lock names for the chosen wheels, and for one another. */
async function sharedOf(
  choices: readonly Choice[],
  lock: PyodideLock,
  wheels: Wheels,
): Promise<ReadonlyMap<string, Library>> {
  const libraries = new Map<string, Library>();
  for (const [name, one] of archivesOf(choices, lock)) {
    for (const [file, library] of await wheels.readShared(one, name)) {
      if (libraries.has(file)) throw new PackageError(`the library ${quoted(file)} is in two archives of ${LOCK}`);
      libraries.set(file, library);
    }
  }
  return libraries;
}

/** The archives of those libraries, by the names of their packages. */
export function archivesOf(choices: readonly Choice[], { packages }: PyodideLock): ReadonlyMap<string, LockedPackage> {
  const archives = new Map<string, LockedPackage>();
  const visit = ({ depends }: LockedPackage): void => {
    for (const name of depends) {
      const one = packages.get(name);
      if (one?.isShared !== true || archives.has(name)) continue;
      archives.set(name, one);
      visit(one);
    }
  };
  for (const { locked } of choices) if (locked !== undefined) visit(locked);
  return archives;
}

/** All wheels are installed into one folder, so two may have a file of the same path only if it is identical. */
function merged(choices: readonly Choice[]): PythonScript["packages"] {
  const files = new Map<string, File>();
  const folders = new Set<string>();
  for (const { name, wheel } of choices.toSorted((one, other) => (one.name.name < other.name.name ? -1 : 1))) {
    for (const [path, file] of [...wheel.files, ...wheel.libraries]) {
      const known = files.get(path);
      if (known !== undefined && !isSameFile(known, file)) {
        throw new PackageError(`the wheel ${quoted(name.file)} has ${quoted(path)}, which another wheel contains too`);
      }
      files.set(path, file);
      for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) folders.add(path.slice(0, at));
    }
  }
  const both = [...files.keys()].find((path) => folders.has(path));
  if (both !== undefined) throw new PackageError(`${quoted(both)} is a file in one wheel and a folder in another`);
  if (files.size > FILES_MAX) throw new PackageError(`its packages have more than ${FILES_MAX} files`);
  return Object.fromEntries([...files].filter((one): one is [string, PythonFile] => !isLibrary(one[1])));
}

type File = PythonFile | Library;

function isLibrary(file: File): file is Library {
  return typeof file !== "string" && "needs" in file;
}

function isSameFile(one: File, other: File): boolean {
  if (isLibrary(one)) return isLibrary(other) && Buffer.from(one.bytes).equals(other.bytes);
  return JSON.stringify(one) === JSON.stringify(other);
}
