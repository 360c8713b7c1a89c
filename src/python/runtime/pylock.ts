import path from "node:path";
import { isObject, memberOf } from "../../kernel/base/json.ts";
import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import { readToml } from "../../kernel/tool/package/toml.ts";
import { PYTHON_MINOR, PYTHON_VERSION } from "./environment.ts";
import { isMet, readMarker } from "./marker.ts";
import { readRequirement, type Requirement } from "./requirement.ts";
import { admits, isSpecifiers, isVersion } from "./versions.ts";

/** The name of a lock's file. */
export const PYLOCK = "pylock.toml";
export const PYLOCK_BYTES_MAX = 1024 * 1024;
const PACKAGES_MAX = 1_000;
const MARKERS_MAX = 100;
const WHEELS_MAX = 500;
const FORMAT = /^1\.\d+$/;
const SHA256 = /^[\da-f]{64}$/i;
/** Packages that no wheel has. */
const ELSEWHERE = ["vcs", "directory", "archive"] as const;

/**
 * The packages that a lock (PEP 751) in a folder names for this interpreter: each of one version, with the hashes of its
 * wheels; `undefined` without the file. Rejects with a `PackageError`.
 */
export async function readPylock(root: string, folder: string): Promise<readonly Requirement[] | undefined> {
  const name = path.posix.join(folder, PYLOCK);
  const lock = await readToml(path.join(root, name), name, PYLOCK_BYTES_MAX);
  return lock === undefined ? undefined : pinnedBy(lock, name);
}

/** The packages of a lock. Throws a `PackageError` that names the wrong one. */
export function pinnedBy(lock: unknown, name = PYLOCK): readonly Requirement[] {
  const format = memberOf(lock, "lock-version");
  if (typeof format !== "string" || !FORMAT.test(format)) {
    const said = typeof format === "string" ? quoted(format) : "another form";
    throw new PackageError(`${name} must have lock-version = "1.0"; ${said} is not supported`);
  }
  requirePython(memberOf(lock, "requires-python"), name);
  const environments = textsOf(memberOf(lock, "environments") ?? [], MARKERS_MAX, `${name}: environments`);
  if (environments.length > 0 && !environments.some((marker) => holds(marker, name))) {
    throw new PackageError(`${name} is for other environments: none of ${quoted(environments.join("; "))} holds here`);
  }
  const packages = memberOf(lock, "packages") ?? [];
  if (!Array.isArray(packages) || packages.length > PACKAGES_MAX) {
    throw new PackageError(`${name} must have a list of at most ${PACKAGES_MAX} packages`);
  }
  const requirements: Requirement[] = [];
  for (const [at, one] of packages.entries()) {
    const requirement = readPackage(one, `${name}, package ${at + 1},`);
    if (requirement === null) continue;
    if (requirements.some((other) => other.name === requirement.name)) {
      throw new PackageError(`${requirement.place} is ${quoted(requirement.name)} again, for the same environment`);
    }
    requirements.push(requirement);
  }
  return requirements;
}

/** `null` if it is for other environments. */
function readPackage(given: unknown, place: string): Requirement | null {
  const { name, version, marker } = isObject(given) ? given : {};
  if (typeof name !== "string" || (marker !== undefined && typeof marker !== "string")) {
    throw new PackageError(`${place} must have a name, and may have a marker`);
  }
  if (marker !== undefined && !holds(marker, place)) return null;
  requirePython(memberOf(given, "requires-python"), place);
  const elsewhere = ELSEWHERE.find((kind) => memberOf(given, kind) !== undefined);
  if (elsewhere !== undefined) {
    throw new PackageError(`${place} takes ${quoted(name)} from ${elsewhere}: only wheels are installed here`);
  }
  if (typeof version !== "string" || !isVersion(version)) {
    throw new PackageError(`${place} must have a version, because it names ${quoted(name)} by its wheels`);
  }
  return readRequirement(
    `${name}==${version}`,
    place,
    hashesOf(memberOf(given, "wheels"), `${place} ${quoted(name)},`),
  );
}

function hashesOf(wheels: unknown, place: string): readonly string[] {
  if (!Array.isArray(wheels) || wheels.length === 0) {
    throw new PackageError(`${place} has no wheels, and nothing is built here`);
  }
  if (wheels.length > WHEELS_MAX) throw new PackageError(`${place} has more than ${WHEELS_MAX} wheels`);
  return wheels.map((wheel) => {
    const hash = memberOf(memberOf(wheel, "hashes"), "sha256");
    if (typeof hash !== "string" || !SHA256.test(hash)) {
      throw new PackageError(`${place} has a wheel without hashes = { sha256 = "…" }`);
    }
    return hash.toLowerCase();
  });
}

function requirePython(specifiers: unknown, place: string): void {
  if (specifiers === undefined) return;
  if (typeof specifiers === "string" && isSpecifiers(specifiers) && admits(specifiers, PYTHON_VERSION)) return;
  const said = typeof specifiers === "string" ? quoted(specifiers) : "of another form";
  throw new PackageError(`${place} requires Python ${said}; this is Python ${PYTHON_VERSION}`);
}

function holds(marker: string, place: string): boolean {
  try {
    return isMet(readMarker(marker), "");
  } catch (error) {
    throw error instanceof PackageError ? new PackageError(`${place} ${error.message}`) : error;
  }
}

function textsOf(value: unknown, max: number, what: string): readonly string[] {
  if (Array.isArray(value) && value.length <= max && value.every((one) => typeof one === "string")) return value;
  throw new PackageError(`${what} must be a list of at most ${max} texts`);
}

/** Requirements for which a lock was written here; the packages of a lock that another program has written. */
export function askedBy(lock: unknown): readonly Requirement[] {
  const asked = memberOf(memberOf(memberOf(lock, "tool"), "glovebox"), "requirements");
  if (asked === undefined) return pinnedBy(lock).map(({ name, place }) => readRequirement(name, place));
  const place = `${PYLOCK}, tool.glovebox.requirements,`;
  return textsOf(asked, PACKAGES_MAX, place).map((one) => readRequirement(one, place));
}

/** A package of a lock that is written. */
export interface LockedWheel {
  readonly name: string;
  readonly version: string;
  readonly file: string;
  /** In hexadecimal. */
  readonly sha256: string;
  /** Its address; `undefined` for a file in the lock's folder. */
  readonly url: string | undefined;
}

/** The text of a lock for this interpreter. `requirements`: the requested ones, from which the rest follows. */
export function lockText(wheels: readonly LockedWheel[], requirements: readonly string[]): string {
  const packages = wheels
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, version, file, sha256, url }) => {
      const place = url === undefined ? `path = ${text(file)}` : `url = ${text(url)}`;
      const wheel = `{ name = ${text(file)}, ${place}, hashes = { sha256 = ${text(sha256)} } }`;
      return `\n[[packages]]\nname = ${text(name)}\nversion = ${text(version)}\nwheels = [${wheel}]\n`;
    });
  const head = [
    'lock-version = "1.0"',
    `environments = [${text("sys_platform == 'emscripten'")}]`,
    `requires-python = ${text(`==3.${PYTHON_MINOR}.*`)}`,
    'created-by = "glovebox"',
  ];
  const asked = `\n[tool.glovebox]\nrequirements = [${requirements.map(text).join(", ")}]\n`;
  return `${head.join("\n")}\n${packages.join("")}${asked}`;
}

/** A basic string of TOML, which JSON's strings are but for one character. */
function text(value: string): string {
  return JSON.stringify(value).replaceAll("\u007f", "\\u007f");
}
