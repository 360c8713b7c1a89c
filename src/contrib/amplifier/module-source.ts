import { readdir, readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { memberOf } from "../../kernel/base/json.ts";
import { PYPROJECT, readPyproject } from "../../python/runtime/pyproject.ts";
import { PackageError } from "../../kernel/tool/package/step.ts";
import type { MountPlanEntry } from "./mount-plan.ts";

/** A source on a git server: `git+https://github.com/org/my-tool@main#subdirectory=packages/one`. */
export interface GitSource {
  /** `https://github.com/org/my-tool` */
  readonly url: string;
  /** `main`; empty if the source names none. */
  readonly ref: string;
  /** `packages/one`; empty if the source names none. */
  readonly subdirectory: string;
}

/** Allowed sources of modules. */
export interface SourceOptions {
  /** Base of relative paths. Its `package.json` and `node_modules` are searched for modules. */
  readonly folder: string;
  /** Folders that sources must lie in. Default: `folder` alone. */
  readonly roots?: readonly string[];
  /**
   * Returns a folder with the content of a git source. Without it such sources are refused: this package downloads no
   * code.
   */
  readonly git?: (source: GitSource) => Promise<string>;
}

/** A module that cannot be used: with its source, the reason and a remedy. */
export class ModuleSourceError extends Error {
  override readonly name = "ModuleSourceError";
  /** `refused`: not allowed. `not_found`: does not exist. `invalid`: malformed. */
  readonly reason: "refused" | "not_found" | "invalid";
  readonly remedy: string;

  constructor(reason: ModuleSourceError["reason"], module: string, problem: string, remedy: string, cause?: unknown) {
    super(`module "${module}" ${problem}; ${remedy}`, cause === undefined ? {} : { cause });
    this.reason = reason;
    this.remedy = remedy;
  }
}

const GIT = "git+https:";
const SCHEME = /^[a-z][a-z\d+.-]*:/i;
const PACKAGE = /^(?:@[a-z\d~-][a-z\d._~-]*\/)?[a-z\d~-][a-z\d._~-]*$/i;
const MANIFEST_MAX = 1024 * 1024;
const PACKAGES_MAX = 5_000;
/** Name of the export that is mounted. */
const MOUNT = "mount";

/**
 * Resolves the path of a plan's module: a file, a folder with an `index` file, or a Python project. Rejects with a
 * `ModuleSourceError`.
 */
export async function findModule(entry: MountPlanEntry, options: SourceOptions): Promise<string> {
  const { module, source } = entry;
  if (source === undefined) return findByName(module, options);
  const folder = path.resolve(options.folder);
  if (source.startsWith(GIT)) return fromGit(module, gitSource(module, source), options);
  if (source.startsWith("file://")) return at(module, localPath(module, source), options);
  if (SCHEME.test(source) && !path.isAbsolute(source)) {
    const scheme = source.slice(0, source.indexOf(":"));
    throw refused(module, `has a source that begins with ${scheme}:`, "name a local path or package");
  }
  if (/^\.{0,2}[\\/]/.test(source) || source === "." || source === ".." || path.isAbsolute(source)) {
    return at(module, path.resolve(folder, source), options);
  }
  if (!PACKAGE.test(source)) {
    const remedy = 'write "./…" in front of a path, or name a package';
    throw new ModuleSourceError("invalid", module, "has a source that is neither a path nor a package", remedy);
  }
  return at(module, path.join(folder, "node_modules", source), options);
}

function gitSource(module: string, source: string): GitSource {
  const url = URL.parse(source.slice("git+".length));
  const remedy = 'write "git+https://host/owner/name@ref", without a user and a password';
  if (url === null || url.username !== "" || url.password !== "" || url.search !== "") {
    throw new ModuleSourceError("invalid", module, "has a git source that cannot be read", remedy);
  }
  const [repository = "", ref = ""] = url.pathname.split(/@(.*)/s);
  const subdirectory = new URLSearchParams(url.hash.slice(1)).get("subdirectory") ?? "";
  return { url: `${url.origin}${repository}`, ref, subdirectory };
}

async function fromGit(module: string, source: GitSource, { git }: SourceOptions): Promise<string> {
  if (git === undefined) {
    const remedy = "check it out and name its folder, or give the option git, which answers the folder of a source";
    throw refused(module, `is to be fetched from ${source.url}, and git sources are not allowed here`, remedy);
  }
  const folder = await git(source).catch((error: unknown) => {
    const remedy = "see what the option git failed with";
    throw new ModuleSourceError("not_found", module, `could not be fetched from ${source.url}`, remedy, error);
  });
  return at(module, path.resolve(folder, source.subdirectory), { folder, roots: [folder] });
}

/** Resolves a path: a file, a folder whose manifest names the module, or a folder that is the module. */
async function at(module: string, target: string, options: SourceOptions): Promise<string> {
  const real = await realpath(target).catch(() => undefined);
  if (real === undefined) throw notFound(module, "has a source that does not exist");
  await requireAllowed(module, real, options);
  if (!(await stat(real)).isDirectory()) return real;
  return (await moduleIn(real, module)) ?? real;
}

async function requireAllowed(
  module: string,
  real: string,
  { folder, roots = [folder] }: SourceOptions,
): Promise<void> {
  for (const root of roots) {
    const allowed = await realpath(root).catch(() => undefined);
    if (allowed !== undefined && isIn(real, allowed)) return;
  }
  throw refused(module, "lies outside of the folders in which sources may be", "add its folder to roots");
}

/** Finds a module without a source in the manifest of the folder, of a project in it, or of a package installed there. */
async function findByName(module: string, options: SourceOptions): Promise<string> {
  const { folder } = options;
  const root = path.resolve(folder);
  const installed = await packagesIn(path.join(root, "node_modules"));
  for (const one of [root, ...(await projectsIn(root)), ...installed]) {
    const found = await moduleIn(one, module);
    if (found === undefined) continue;
    await requireAllowed(module, found, options);
    return found;
  }
  const remedy = `add "amplifier": { "modules": { ${JSON.stringify(module)}: "./file.js:${MOUNT}" } } to a package.json, an entry point of "amplifier.modules" to a pyproject.toml, or a source to the plan`;
  throw notFound(module, "has no source, and no package names it", remedy);
}

async function packagesIn(installed: string): Promise<readonly string[]> {
  const names = await readdir(installed).catch((): string[] => []);
  const found: string[] = [];
  for (const name of names.toSorted()) {
    if (found.length > PACKAGES_MAX) break;
    if (name.startsWith(".")) continue;
    if (!name.startsWith("@")) found.push(path.join(installed, name));
    else {
      const inner = await readdir(path.join(installed, name)).catch((): string[] => []);
      found.push(...inner.toSorted().map((one) => path.join(installed, name, one)));
    }
  }
  return found;
}

/** Modules named in a folder's `package.json`, each with its file and its export. */
export async function modulesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const file = path.join(folder, "package.json");
  const found = await stat(file).catch(() => undefined);
  if (found === undefined || !found.isFile() || found.size > MANIFEST_MAX) return new Map();
  let manifest: unknown;
  try {
    manifest = JSON.parse(await readFile(file, "utf8"));
  } catch {
    return new Map();
  }
  const modules = memberOf(memberOf(manifest, "amplifier"), "modules");
  if (typeof modules !== "object" || modules === null) return new Map();
  return new Map(Object.entries(modules).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

/** Folders of Python projects in a folder. */
async function projectsIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  const found: string[] = [];
  for (const name of names.toSorted().slice(0, PACKAGES_MAX)) {
    const file = path.join(folder, name, PYPROJECT);
    if ((await stat(file).catch(() => undefined))?.isFile() === true) found.push(path.dirname(file));
  }
  return found;
}

/** Whether a folder is a Python project whose `pyproject.toml` names the module. */
async function isProjectOf(folder: string, module: string): Promise<boolean> {
  try {
    return (await readPyproject(folder))?.modules.has(module) === true;
  } catch (error) {
    if (!(error instanceof PackageError)) throw error;
    throw new ModuleSourceError(
      "invalid",
      module,
      `has a project that cannot be read: ${error.message}`,
      "mend it",
      error,
    );
  }
}

async function moduleIn(folder: string, module: string): Promise<string | undefined> {
  const entry = (await modulesIn(folder)).get(module);
  if (entry === undefined) return (await isProjectOf(folder, module)) ? realpath(folder) : undefined;
  const [file = "", name = MOUNT] = entry.split(":");
  const remedy = `write "./file.js:${MOUNT}"`;
  if (name !== MOUNT) {
    throw new ModuleSourceError("invalid", module, `is to be mounted by "${name}", not by "${MOUNT}"`, remedy);
  }
  const root = await realpath(folder);
  const real = await realpath(path.resolve(root, file)).catch(() => undefined);
  if (real === undefined) throw notFound(module, "is named by a package.json, but its file does not exist", remedy);
  if (real === root || !isIn(real, root)) throw refused(module, "is a file outside of its package", remedy);
  return real;
}

function localPath(module: string, source: string): string {
  try {
    return fileURLToPath(source);
  } catch {
    throw new ModuleSourceError("invalid", module, "has a source that is no file's URL", 'write "file:///folder/file"');
  }
}

function isIn(file: string, folder: string): boolean {
  return file === folder || file.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep);
}

function refused(module: string, problem: string, remedy: string): ModuleSourceError {
  return new ModuleSourceError("refused", module, problem, remedy);
}

function notFound(
  module: string,
  problem: string,
  remedy = "check the path and the folder it starts from",
): ModuleSourceError {
  return new ModuleSourceError("not_found", module, problem, remedy);
}
