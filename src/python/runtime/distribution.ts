import { readFile } from "node:fs/promises";
import path from "node:path";
import { isObject, memberOf } from "../../kernel/base/json.ts";
import { parseJson } from "../../kernel/tool/package/layout.ts";
import { findPyodide } from "./place.ts";
import { PackageIndex } from "./package-index.ts";
import { LOCK, type PyodideLock, readPyodideLock } from "./pyodide-lock.ts";
import { normalizedName, readWheelName } from "./wheel-name.ts";

/** Pyodide's distribution: wheels and libraries that were compiled for the interpreter that is installed. */
export interface Distribution {
  readonly index: PackageIndex;
  /** Compiled packages only: its wheels of pure Python are rebuilt ones, and an index has the author's own. */
  readonly lock: PyodideLock;
  /** The lock's text as an object. */
  readonly written: unknown;
}

/**
 * The distribution of the installed Pyodide; `null` without it. `address`: the folder of its files, instead of the
 * public one. Its files must have the hashes in the installed package. Throws a `TypeError` for an address of another
 * form.
 */
export async function openDistribution(address: string | undefined, maxBytes: number): Promise<Distribution | null> {
  const pyodide = findPyodide();
  if (pyodide === null) return null;
  const [lock, manifest] = await Promise.all([LOCK, "package.json"].map((file) => readFile(path.join(pyodide, file))));
  if (lock === undefined || manifest === undefined) return null;
  const version = String(memberOf(parseJson(manifest, "package.json"), "version"));
  const index = new PackageIndex(address ?? `https://cdn.jsdelivr.net/pyodide/v${version}/full/`, maxBytes);
  return { index, lock: compiledIn(readPyodideLock(lock)), written: parseJson(lock, LOCK) };
}

/** The part of a lock that names compiled wheels, and archives of libraries. */
export function compiledIn({ packages }: PyodideLock): PyodideLock {
  const compiled = [...packages].filter(
    ([, { isShared, file }]) => isShared || readWheelName(file)?.code === "compiled",
  );
  return { packages: new Map(compiled), files: new Map(compiled.map(([, one]) => [one.file, one])) };
}

/** The text of a lock with the packages of these files, and those of an existing lock. */
export function partOfLock({ written }: Distribution, files: ReadonlySet<string>, before: unknown): string {
  const all: unknown = memberOf(written, "packages");
  const named = isObject(all)
    ? Object.entries(all).filter(([, one]) => files.has(String(memberOf(one, "file_name"))))
    : [];
  const known: unknown = memberOf(before, "packages");
  const packages = new Map(Object.entries(isObject(known) ? known : {}));
  for (const [name, one] of named) packages.set(normalizedName(name), one);
  return `${JSON.stringify({ info: memberOf(written, "info"), packages: Object.fromEntries(packages) }, null, 1)}\n`;
}
