import { errnoOf } from "../../kernel/base/errno.ts";
import { opendir } from "node:fs/promises";
import path from "node:path";
import { BoundedCache } from "../../kernel/base/bounded-cache.ts";
import { hashOf, readFileAt } from "../../kernel/tool/package/file.ts";
import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import { weightOf } from "./python-file.ts";
import { type Library, readLibrary } from "./libraries.ts";
import {
  LOCK,
  LOCK_BYTES_MAX,
  type LockedPackage,
  NO_LOCK,
  type PyodideLock,
  readPyodideLock,
} from "./pyodide-lock.ts";
import { readWheel, unpack, type Wheel } from "./wheel.ts";
import { readWheelName, type WheelName } from "./wheel-name.ts";

const LISTED_MAX = 10_000;
const KEPT_MAX = 100;
const KEPT_CHARACTERS_MAX = 64 * 1024 * 1024;

/** A wheel with its file's hash. */
export interface ReadWheel extends Wheel {
  /** Hash of the file, in hexadecimal. */
  readonly sha256: string;
  /** Total length of its files but its libraries, in characters. */
  readonly weight: number;
}

/** The operator's folder of wheels, on which packages may depend. */
export class Wheels {
  /** `undefined` if the operator has none. */
  readonly #folder: string | undefined;
  readonly #maxBytes: number;
  readonly #kept = new BoundedCache<ReadWheel>(
    KEPT_MAX,
    KEPT_CHARACTERS_MAX,
    ({ weight, libraries }) => weight + bytesOf(libraries.values()),
  );

  /** `maxBytes`: maximum size of a wheel, packed and unpacked. */
  constructor(folder: string | undefined, maxBytes: number) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
  }

  /** The wheels in the folder now, keyed by name. Rejects with a `PackageError` if the folder cannot be read. */
  async list(): Promise<ReadonlyMap<string, readonly WheelName[]>> {
    const wheels = new Map<string, WheelName[]>();
    for (const file of await this.#files()) {
      const name = readWheelName(file);
      if (name === null) continue;
      const same = wheels.get(name.name);
      if (same === undefined) wheels.set(name.name, [name]);
      else same.push(name);
    }
    return wheels;
  }

  /** Reads a wheel, cached by content and file name. Rejects with a `PackageError`. */
  async read(name: WheelName): Promise<ReadWheel> {
    const bytes = await this.#read(name.file, this.#maxBytes);
    if (bytes === undefined) throw new PackageError("a wheel was removed while it was read; try again");
    const sha256 = await hashOf(bytes);
    // The same bytes under another name are another wheel.
    const key = `${sha256} ${name.file}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const wheel = withWeight(await readWheel(bytes, name, this.#maxBytes), sha256);
    this.#kept.set(key, wheel);
    return wheel;
  }

  /** The lock in the folder, as Pyodide writes it; empty if it is missing. Rejects with a `PackageError`. */
  async lock(): Promise<PyodideLock> {
    const bytes = await this.#read(LOCK, LOCK_BYTES_MAX);
    return bytes === undefined ? NO_LOCK : readPyodideLock(bytes);
  }

  /** The libraries in an archive of a lock, by file name. Rejects with a `PackageError`. */
  async readShared({ file, sha256 }: LockedPackage, name: string): Promise<ReadonlyMap<string, Library>> {
    const bytes = await this.#read(file, this.#maxBytes);
    if (bytes === undefined) {
      throw new PackageError(
        `${LOCK} names ${quoted(file)} for ${quoted(name)}, which is not in the folder packages.wheels`,
      );
    }
    if ((await hashOf(bytes)) !== sha256) throw hashDiffers(file);
    const libraries = new Map<string, Library>();
    for (const [inside, content] of await unpack(bytes, this.#maxBytes)) {
      if (!inside.endsWith(".so")) continue;
      const base = inside.slice(inside.lastIndexOf("/") + 1);
      if (libraries.has(base)) throw new PackageError(`${quoted(file)} has ${quoted(base)} twice`);
      libraries.set(base, readLibrary(content, `${file}/${inside}`));
    }
    return libraries;
  }

  /** Clears the cache. */
  clear(): void {
    this.#kept.clear();
  }

  async #read(file: string, maxBytes: number): Promise<Buffer | undefined> {
    return this.#folder === undefined ? undefined : readFileAt(path.join(this.#folder, file), file, maxBytes, true);
  }

  async #files(): Promise<readonly string[]> {
    if (this.#folder === undefined) return [];
    const files: string[] = [];
    const folder = await opendir(this.#folder).catch((error: unknown) => {
      const code = errnoOf(error) ?? "";
      const remedy = code === "ENOENT" ? "; glovebox python add PACKAGE makes it" : "";
      throw new PackageError(`the folder packages.wheels cannot be read (${code})${remedy}`);
    });
    for await (const { name } of folder) {
      if (files.push(name) > LISTED_MAX) {
        throw new PackageError(`the folder packages.wheels has more than ${LISTED_MAX} entries`);
      }
    }
    return files.sort();
  }
}

/** A wheel that was read from these bytes. */
export async function readingOf(bytes: Buffer, wheel: Wheel): Promise<ReadWheel> {
  return withWeight(wheel, await hashOf(bytes));
}

function withWeight(wheel: Wheel, sha256: string): ReadWheel {
  let weight = 0;
  for (const [file, content] of wheel.files) weight += file.length + weightOf(content);
  return { ...wheel, sha256, weight };
}

/** The file of a lock differs from the one for which the lock was written. */
export function hashDiffers(file: string): PackageError {
  return new PackageError(`${quoted(file)} has another SHA-256 than ${LOCK} names for it: one of them was replaced`);
}

function bytesOf(libraries: Iterable<Library>): number {
  let bytes = 0;
  for (const library of libraries) bytes += library.bytes.length;
  return bytes;
}
