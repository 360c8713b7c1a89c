import { mkdir, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { randomUUID } from "node:crypto";
import { memberOf } from "../../../base/json.ts";
import { readToml } from "../../package/toml.ts";
import { NO_LOCK } from "./pyodide-lock.ts";
import { askedBy, type LockedWheel, lockText, pinnedBy, PYLOCK, PYLOCK_BYTES_MAX } from "./pylock.ts";
import type { IndexedWheel } from "./index-page.ts";
import type { PackageIndex } from "./package-index.ts";
import { counts, isHashed, type Requirement, requirementText } from "./requirement.ts";
import { type Choice, resolve } from "./resolution.ts";
import { compareVersions, versionsIn } from "./versions.ts";
import { readWheel } from "./wheel.ts";
import type { WheelName } from "./wheel-name.ts";
import { readingOf, type ReadWheel, Wheels } from "./wheels.ts";

/** The operator's folder of wheels, and where others come from. */
export interface WheelPlaces {
  readonly folder: string;
  readonly index: PackageIndex;
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
  /** Packages that were asked for, and that the interpreter stands in for. */
  readonly builtIn: readonly string[];
}

/** Of all wheels together: the folder serves many tools. */
const CHARACTERS_MAX = 512 * 1024 * 1024;

/**
 * Adds packages to a folder of wheels, with all that they require, and writes its lock. What the lock has already stays
 * in the version that it has, where that fits. Rejects with a `PackageError`, and then nothing was written.
 */
export async function addWheels(given: readonly Requirement[], places: WheelPlaces): Promise<AddedWheels> {
  const { folder, index, maxBytes } = places;
  const lock = await readToml(path.join(folder, PYLOCK), PYLOCK, PYLOCK_BYTES_MAX);
  const names = new Set(given.map(({ name }) => name));
  const before = lock === undefined ? [] : askedBy(lock).filter(({ name }) => !names.has(name));
  const asked = [...given, ...before].filter((one) => counts(one, []));
  const preferred = preferredBy(lock, names);
  await mkdir(folder, { recursive: true });
  const stock = new IndexStock(new Wheels(folder, maxBytes), index, maxBytes);
  await stock.open(asked, preferred);
  const choices = await resolve(asked, {
    place: "index",
    lock: NO_LOCK,
    isClosed: given.some(isHashed),
    maxCharacters: CHARACTERS_MAX,
    preferred,
    list: (name) => stock.list(name),
    read: (name) => stock.read(name),
  });
  for (const { name } of choices) {
    const bytes = stock.downloaded(name);
    if (bytes !== undefined) await writeWhole(path.join(folder, name.file), bytes);
  }
  const known = urlsIn(lock);
  const locked = choices.map((choice) => lockedWheel(choice, stock.urlOf(choice.name) ?? known.get(choice.name.file)));
  // Conditions that hold here are not written: the lock is for this interpreter only.
  await writeWhole(path.join(folder, PYLOCK), lockText(locked, asked.map(requirementText), index.address.href));
  const wheels = choices.map(({ name }) => ({ ...name, isNew: stock.downloaded(name) !== undefined }));
  const builtIn = [...names].filter((name) => wheels.every((wheel) => wheel.name !== name));
  return { wheels: wheels.toSorted((one, other) => (one.name < other.name ? -1 : 1)), builtIn };
}

/** The versions of a lock, but of packages that are asked for again. */
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

/** Whoever reads the folder meanwhile sees a file whole, or not at all. */
async function writeWhole(file: string, content: string | Buffer): Promise<void> {
  const part = `${file}.${randomUUID()}.part`;
  await writeFile(part, content, { flag: "wx" });
  await rename(part, file);
}

/** The wheels of a folder, and for packages that are not pinned to one of them those of an index. */
class IndexStock {
  readonly #wheels: Wheels;
  readonly #index: PackageIndex;
  readonly #maxBytes: number;
  #inFolder: ReadonlyMap<string, readonly WheelName[]> = new Map();
  /** Versions that are asked for exactly, by name: also where they are withdrawn. */
  readonly #exact = new Map<string, readonly string[]>();
  readonly #indexed = new Map<string, IndexedWheel>();
  readonly #read = new Map<string, Promise<ReadWheel>>();
  readonly #downloaded = new Map<string, Buffer>();

  constructor(wheels: Wheels, index: PackageIndex, maxBytes: number) {
    this.#wheels = wheels;
    this.#index = index;
    this.#maxBytes = maxBytes;
  }

  async open(wanted: readonly Requirement[], preferred: ReadonlyMap<string, string>): Promise<void> {
    this.#inFolder = await this.#wheels.list();
    for (const [name, version] of preferred) this.#exact.set(name, [version]);
    for (const { name, versions } of wanted) {
      if (/^===?[^*]+$/.test(versions)) this.#exact.set(name, versionsIn(versions));
    }
  }

  async list(name: string): Promise<readonly WheelName[]> {
    const here = this.#inFolder.get(name) ?? [];
    const exact = this.#exact.get(name) ?? [];
    const isExact = ({ version }: WheelName): boolean => exact.some((one) => compareVersions(one, version) === 0);
    const indexed = (await this.#index.wheels(name)).filter((one) => !one.isYanked || isExact(one.name));
    for (const one of indexed) this.#indexed.set(one.name.file, one);
    const others = indexed.map((one) => one.name).filter(({ file }) => here.every((one) => one.file !== file));
    return [...here, ...others];
  }

  read(name: WheelName): Promise<ReadWheel> {
    const known = this.#read.get(name.file) ?? this.#readOne(name);
    this.#read.set(name.file, known);
    return known;
  }

  /** The bytes of a wheel that was not in the folder. */
  downloaded({ file }: WheelName): Buffer | undefined {
    return this.#downloaded.get(file);
  }

  urlOf({ file }: WheelName): string | undefined {
    return this.#indexed.get(file)?.url.href;
  }

  async #readOne(name: WheelName): Promise<ReadWheel> {
    const indexed = this.#indexed.get(name.file);
    const isHere = this.#inFolder.get(name.name)?.some(({ file }) => file === name.file) === true;
    if (isHere || indexed === undefined) return this.#wheels.read(name);
    const bytes = await this.#index.download(indexed);
    const wheel = await readingOf(bytes, await readWheel(bytes, name, this.#maxBytes));
    this.#downloaded.set(name.file, bytes);
    return wheel;
  }
}
