import { isObject } from "../../kernel/base/json.ts";
import { parseJson } from "../../kernel/tool/package/layout.ts";
import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import { PYODIDE_ABI } from "./environment.ts";
import { normalizedName } from "./wheel-name.ts";

/** The file that lists the contents of the folder of wheels, in Pyodide's format. */
export const LOCK = "pyodide-lock.json";
export const LOCK_BYTES_MAX = 4 * 1024 * 1024;

/** A package of a lock. */
export interface LockedPackage {
  readonly file: string;
  readonly version: string;
  /** In hexadecimal. */
  readonly sha256: string;
  /** Names of packages, normalized. */
  readonly depends: readonly string[];
  /** Whether it is an archive of libraries in place of a wheel. */
  readonly isShared: boolean;
}

export interface PyodideLock {
  /** Keyed by normalized name. */
  readonly packages: ReadonlyMap<string, LockedPackage>;
  /** Keyed by the name of its file. */
  readonly files: ReadonlyMap<string, LockedPackage>;
}

export const NO_LOCK: PyodideLock = { packages: new Map(), files: new Map() };

const FILE = /^[^/\\]{1,255}$/;
const SHA256 = /^[\da-f]{64}$/i;

/** Reads a lock. Throws a `PackageError` that names the mistake. */
export function readPyodideLock(bytes: Buffer): PyodideLock {
  const lock = parseJson(bytes, LOCK);
  const [info, listed] = isObject(lock) ? [lock["info"], lock["packages"]] : [];
  if (!isObject(info) || !isObject(listed)) throw new PackageError(`${LOCK} has no object "info", or no "packages"`);
  const abi = info["abi_version"];
  if (abi !== PYODIDE_ABI) {
    const said = typeof abi === "string" ? quoted(abi) : "none";
    throw new PackageError(`${LOCK} is of another Pyodide: its abi_version is ${said}; this is ${PYODIDE_ABI}`);
  }
  const packages = new Map<string, LockedPackage>();
  const files = new Map<string, LockedPackage>();
  for (const [name, entry] of Object.entries(listed)) {
    const one = readPackage(name, entry);
    packages.set(normalizedName(name), one);
    files.set(one.file, one);
  }
  return { packages, files };
}

function readPackage(name: string, entry: unknown): LockedPackage {
  const { file_name: file, version, sha256, depends, package_type: type } = isObject(entry) ? entry : {};
  const isRight =
    typeof file === "string" &&
    FILE.test(file) &&
    typeof version === "string" &&
    typeof sha256 === "string" &&
    SHA256.test(sha256) &&
    Array.isArray(depends) &&
    depends.every((one) => typeof one === "string");
  if (!isRight) {
    throw new PackageError(
      `${LOCK}, package ${quoted(name)}, must have file_name (a name without folders), version, sha256 and depends`,
    );
  }
  return {
    file,
    version,
    sha256: sha256.toLowerCase(),
    depends: depends.map(normalizedName),
    isShared: type === "shared_library",
  };
}
