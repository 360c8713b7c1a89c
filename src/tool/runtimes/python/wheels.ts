import { opendir } from "node:fs/promises";
import path from "node:path";
import { BoundedCache } from "../../../base/bounded-cache.ts";
import { hashOf, readFileAt } from "../../package/file.ts";
import { PackageError } from "../../package/step.ts";
import { weightOf } from "./python-file.ts";
import { readWheel, type Wheel } from "./wheel.ts";
import { readWheelName, type WheelName } from "./wheel-name.ts";

const LISTED_MAX = 10_000;
const KEPT_MAX = 100;
const KEPT_CHARACTERS_MAX = 64 * 1024 * 1024;

/** A wheel with its file's hash. */
export interface ReadWheel extends Wheel {
  /** Hash of the file, in hexadecimal. */
  readonly sha256: string;
  /** Total length of its files, in characters. */
  readonly weight: number;
}

/** The operator's folder of wheels, on which packages may depend. */
export class Wheels {
  /** `undefined` if the operator has none. */
  readonly #folder: string | undefined;
  readonly #maxBytes: number;
  readonly #kept = new BoundedCache<ReadWheel>(KEPT_MAX, KEPT_CHARACTERS_MAX, ({ weight }) => weight);

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
    const bytes =
      this.#folder === undefined
        ? undefined
        : await readFileAt(path.join(this.#folder, name.file), name.file, this.#maxBytes, true);
    if (bytes === undefined) throw new PackageError("a wheel was removed while it was read; try again");
    const sha256 = await hashOf(bytes);
    // The same bytes under another name are another wheel.
    const key = `${sha256} ${name.file}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const { files, requires } = await readWheel(bytes, name, this.#maxBytes);
    let weight = 0;
    for (const [file, content] of files) weight += file.length + weightOf(content);
    const wheel = { files, requires, sha256, weight };
    this.#kept.set(key, wheel);
    return wheel;
  }

  /** Clears the cache. */
  clear(): void {
    this.#kept.clear();
  }

  async #files(): Promise<readonly string[]> {
    if (this.#folder === undefined) return [];
    const files: string[] = [];
    const folder = await opendir(this.#folder).catch((error: unknown) => {
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      throw new PackageError(`the folder packages.wheels cannot be read (${code})`);
    });
    for await (const { name } of folder) {
      if (files.push(name) > LISTED_MAX) {
        throw new PackageError(`the folder packages.wheels has more than ${LISTED_MAX} entries`);
      }
    }
    return files.sort();
  }
}
