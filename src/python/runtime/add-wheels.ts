import { mkdir } from "node:fs/promises";
import path from "node:path";
import { memberOf } from "../../kernel/base/json.ts";
import { writeWhole } from "../../kernel/base/os/whole-file.ts";
import { readFileAt } from "../../kernel/tool/package/file.ts";
import { parseJson } from "../../kernel/tool/package/layout.ts";
import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import { readToml } from "../../kernel/tool/package/toml.ts";
import { type Distribution, partOfLock } from "./distribution.ts";
import { archivesOf } from "./installation.ts";
import type { PackageIndex } from "./package-index.ts";
import { askedBy, type LockedWheel, lockText, pinnedBy, PYLOCK, PYLOCK_BYTES_MAX } from "./pylock.ts";
import { LOCK, LOCK_BYTES_MAX, NO_LOCK, type PyodideLock } from "./pyodide-lock.ts";
import { counts, isHashed, type Requirement, requirementText } from "./requirement.ts";
import { type Choice, resolve } from "./resolution.ts";
import { compareVersions, versionsIn } from "./versions.ts";
import { readWheel } from "./wheel.ts";
import { readWheelName, type WheelName } from "./wheel-name.ts";
import { readingOf, type ReadWheel, Wheels } from "./wheels.ts";

/** The operator's folder of wheels, and the source of others. */
export interface WheelPlaces {
  readonly folder: string;
  readonly index: PackageIndex;
  /** Wheels that were compiled for the interpreter; `null` without Pyodide. */
  readonly distribution: Distribution | null;
  /** Maximum size of a wheel, packed and unpacked. */
  readonly maxBytes: number;
}

/** A wheel of the lock, and whether it was downloaded now. */
export interface AddedWheel {
  readonly name: string;
  readonly version: string;
  readonly file: string;
  readonly isNew: boolean;
}

export interface AddedWheels {
  /** All wheels of the lock, by name. */
  readonly wheels: readonly AddedWheel[];
  /** Requested packages that the interpreter replaces by stand-ins. */
  readonly builtIn: readonly string[];
}

const FILE = /^\w[\w.+!-]{0,254}$/;
/** Maximum of all wheels together: the folder is shared by many tools. */
const CHARACTERS_MAX = 512 * 1024 * 1024;
/** An index has hundreds of versions of many packages. */
const COMPARISONS_MAX = 5_000_000;

/**
 * Adds packages to a folder of wheels, with all their requirements, and writes its lock. Packages in the lock keep
 * their versions, if those fit. Rejects with a `PackageError`, and then no file was written.
 */
export async function addWheels(given: readonly Requirement[], places: WheelPlaces): Promise<AddedWheels> {
  const { folder, distribution } = places;
  const lock = await readToml(path.join(folder, PYLOCK), PYLOCK, PYLOCK_BYTES_MAX);
  const names = new Set(given.map(({ name }) => name));
  const before = lock === undefined ? [] : askedBy(lock).filter(({ name }) => !names.has(name));
  const asked = [...given, ...before].filter((one) => counts(one, []));
  const preferred = preferredBy(lock, names);
  await mkdir(folder, { recursive: true });
  const stock = new IndexStock(places);
  await stock.open(asked, preferred);
  const choices = await resolve(asked, {
    place: "index",
    lock: stock.lock,
    isClosed: given.some(isHashed),
    maxComparisons: COMPARISONS_MAX,
    maxCharacters: CHARACTERS_MAX,
    preferred,
    list: (name) => stock.list(name),
    read: (name) => stock.read(name),
  });
  const archives = archivesOf(choices, stock.lock);
  for (const { file } of archives.values()) await stock.readArchive(file);
  const files = [...choices.map(({ name }) => name), ...archives.values()].map(({ file }) => file);
  for (const file of files) {
    const bytes = stock.downloaded(file);
    if (bytes !== undefined) await writeWhole(path.join(folder, file), bytes);
  }
  const ofPyodide = new Set(files.filter((file) => stock.lock.files.has(file)));
  if (distribution !== null && [...ofPyodide].some((file) => distribution.lock.files.has(file))) {
    const known = await readFileAt(path.join(folder, LOCK), LOCK, LOCK_BYTES_MAX, true);
    const text = partOfLock(distribution, ofPyodide, known === undefined ? undefined : parseJson(known, LOCK));
    await writeWhole(path.join(folder, LOCK), text);
  }
  const known = urlsIn(lock);
  const locked = choices.map((choice) => lockedWheel(choice, stock.urlOf(choice.name) ?? known.get(choice.name.file)));
  // Conditions that hold here are not written: the lock is for this interpreter only.
  await writeWhole(path.join(folder, PYLOCK), lockText(locked, asked.map(requirementText)));
  const wheels = choices.map(({ name }) => ({ ...name, isNew: stock.downloaded(name.file) !== undefined }));
  const builtIn = [...names].filter((name) => wheels.every((wheel) => wheel.name !== name));
  return { wheels: wheels.toSorted((one, other) => (one.name < other.name ? -1 : 1)), builtIn };
}

/** The versions of a lock, except those of requested packages. */
function preferredBy(lock: unknown, names: ReadonlySet<string>): ReadonlyMap<string, string> {
  const pinned = (lock === undefined ? [] : pinnedBy(lock)).filter(({ name }) => !names.has(name));
  return new Map(pinned.flatMap(({ name, versions }) => versionsIn(versions).map((version) => [name, version])));
}

function lockedWheel({ name, wheel }: Choice, url: string | undefined): LockedWheel {
  return { name: name.name, version: name.version, file: name.file, sha256: wheel.sha256, url };
}

/** Addresses of wheels, by file, which an earlier lock names. */
function urlsIn(lock: unknown): ReadonlyMap<string, string> {
  const packages: unknown = memberOf(lock, "packages");
  const wheels = (Array.isArray(packages) ? packages : []).flatMap((one: unknown) => memberOf(one, "wheels") ?? []);
  return new Map(
    wheels.flatMap((wheel: unknown) => {
      const [file, url] = [memberOf(wheel, "name"), memberOf(wheel, "url")];
      return typeof file === "string" && typeof url === "string" ? [[file, url] as const] : [];
    }),
  );
}

/** A file that can be downloaded. */
interface Source {
  readonly index: PackageIndex;
  readonly url: URL;
  readonly sha256: string | null;
}

/** The wheels of a folder, of an index, and of Pyodide's distribution. */
class IndexStock {
  readonly #places: WheelPlaces;
  readonly #wheels: Wheels;
  #inFolder: ReadonlyMap<string, readonly WheelName[]> = new Map();
  #lock: PyodideLock = NO_LOCK;
  /** Exactly requested versions, by name: also withdrawn ones. */
  readonly #exact = new Map<string, readonly string[]>();
  readonly #sources = new Map<string, Source>();
  readonly #downloaded = new Map<string, Buffer>();

  constructor(places: WheelPlaces) {
    this.#places = places;
    this.#wheels = new Wheels(places.folder, places.maxBytes);
  }

  /** Pyodide's own lock and the folder's, which takes precedence if both have a file. */
  get lock(): PyodideLock {
    return this.#lock;
  }

  async open(wanted: readonly Requirement[], preferred: ReadonlyMap<string, string>): Promise<void> {
    const [listed, own] = await Promise.all([this.#wheels.list(), this.#wheels.lock()]);
    this.#inFolder = listed;
    const { packages, files } = this.#places.distribution?.lock ?? NO_LOCK;
    this.#lock = {
      packages: new Map([...packages, ...own.packages]),
      files: new Map([...files, ...own.files]),
    };
    for (const [name, version] of preferred) this.#exact.set(name, [version]);
    for (const { name, versions } of wanted) {
      if (/^===?[^*]+$/.test(versions)) this.#exact.set(name, versionsIn(versions));
    }
  }

  async list(name: string): Promise<readonly WheelName[]> {
    const { index, distribution } = this.#places;
    const exact = this.#exact.get(name) ?? [];
    const isExact = ({ version }: WheelName): boolean => exact.some((one) => compareVersions(one, version) === 0);
    const ofPyodide = distribution?.lock.packages.get(name)?.file;
    const wheels = new Map((this.#inFolder.get(name) ?? []).map((one) => [one.file, one]));
    for (const { name: one, url, sha256, isYanked } of await index.wheels(name)) {
      if (wheels.has(one.file) || one.file === ofPyodide || (isYanked && !isExact(one))) continue;
      wheels.set(one.file, one);
      this.#sources.set(one.file, { index, url, sha256 });
    }
    const one = ofPyodide === undefined ? null : readWheelName(ofPyodide);
    if (one !== null && !wheels.has(one.file) && this.#sourceOf(one.file) !== undefined) wheels.set(one.file, one);
    return [...wheels.values()];
  }

  async read(name: WheelName): Promise<ReadWheel> {
    const isHere = this.#inFolder.get(name.name)?.some(({ file }) => file === name.file) === true;
    if (isHere) return this.#wheels.read(name);
    const bytes = await this.#download(name.file);
    return readingOf(bytes, await readWheel(bytes, name, this.#places.maxBytes));
  }

  /** Adds an archive of libraries from the distribution, if the folder lacks it. */
  async readArchive(file: string): Promise<void> {
    const known = await readFileAt(path.join(this.#places.folder, file), file, this.#places.maxBytes, true);
    if (known === undefined) await this.#download(file);
  }

  /** A file that was not in the folder; `undefined` for others. */
  downloaded(file: string): Buffer | undefined {
    return this.#downloaded.get(file);
  }

  urlOf({ file }: WheelName): string | undefined {
    return this.#sources.get(file)?.url.href;
  }

  async #download(file: string): Promise<Buffer> {
    const source = this.#sourceOf(file);
    if (source === undefined) throw new PackageError(`there is no file ${quoted(file)} to download`);
    const bytes = await source.index.download(file, source.url, source.sha256);
    this.#downloaded.set(file, bytes);
    return bytes;
  }

  #sourceOf(file: string): Source | undefined {
    const { distribution } = this.#places;
    const locked = distribution?.lock.files.get(file);
    if (distribution !== null && locked !== undefined && !this.#sources.has(file) && FILE.test(file)) {
      const { index } = distribution;
      this.#sources.set(file, { index, url: new URL(file, index.address), sha256: locked.sha256 });
    }
    return this.#sources.get(file);
  }
}
