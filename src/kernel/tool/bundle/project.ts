import { lstat, readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { isObject } from "../../base/json.ts";
import { type Refusal, refusedImport } from "./refusal.ts";
import { MODULES, namesPath, packageFolders, packageName, isIn } from "./specifier.ts";
import { PLAIN, TsConfigs } from "./ts-config.ts";

/**
 * The files that one import may lead to. `own`: those in the tool's folder. `packages`: also packages, including those
 * inside the project. `project`: also the project's own files.
 */
export type Reach = "own" | "packages" | "project";

/** Options that decide the project of a tool, besides the files above it. */
export interface ProjectOptions {
  /** The folder of the project, from the operator. Default: found above the tool. */
  readonly root?: string;
  /** The user's home folder: it and those above it are no project. Absent if the operator works there. */
  readonly home?: string;
}

const MAX_MANIFEST_BYTES = 1024 * 1024;
const NAME_MAX = 214;
/** Modules that may be in hidden folders, where generators write them. */
const CODE = /\.(?:[cm]?[jt]s|[jt]sx)$/;

/**
 * The operator's project around a tool: the folder whose files it may import. Only tools that the operator names have
 * one; tools from archives or keys have only their own folder.
 */
export class Project {
  /** Without symbolic links. */
  readonly folder: string;
  /** Its name for messages, which hold no path of the host. */
  readonly name: string;
  readonly #configs: TsConfigs;

  private constructor(folder: string, name: string) {
    this.folder = folder;
    this.name = name;
    this.#configs = new TsConfigs(folder, (real) => (isIn(real, folder) ? undefined : this.#leadsOut()));
  }

  /**
   * The project around a folder, which has no symbolic links: `root`; else the nearest folder above with a workspace;
   * else the nearest with a package.json. `undefined` without one, and if `root` is elsewhere.
   */
  static async around(folder: string, { root, home }: ProjectOptions): Promise<Project | undefined> {
    if (root !== undefined) {
      const real = await realpath(root);
      if (folder !== real && !isIn(folder, real)) return undefined;
      return new Project(real, nameOf(await readManifest(real), real));
    }
    let nearest: Project | undefined;
    const own = home === undefined ? undefined : await realpath(home).catch(() => home);
    for (let at = folder; isCandidate(at, own); at = path.dirname(at)) {
      const manifest = await readManifest(at);
      const isWorkspace =
        manifest?.["workspaces"] !== undefined || (await isFile(path.join(at, "pnpm-workspace.yaml")));
      if (isWorkspace) return new Project(at, nameOf(manifest, at));
      if (manifest !== undefined) nearest ??= new Project(at, nameOf(manifest, at));
    }
    return nearest;
  }

  /** Whether a path is in the project; it need not exist. */
  encloses(place: string): boolean {
    return place === this.folder || isIn(place, this.folder);
  }

  /**
   * Whether the file may be imported. Hidden files may not: they belong to no tool, such as `.env`, `.npmrc` and
   * `.git`. Modules in hidden folders may.
   */
  holds(file: string): boolean {
    const own = this.#namesOf(file);
    if (own === undefined) return false;
    const inPackage = own.slice(own.lastIndexOf(MODULES) + 1);
    const isHidden = (name: string | undefined): boolean => name?.startsWith(".") === true;
    if (isHidden(inPackage.at(-1))) return false;
    return CODE.test(file) || !inPackage.some(isHidden);
  }

  /** Whether a file is the project's own code, and not a package's that is installed there. */
  isOwn(file: string): boolean {
    return this.#namesOf(file)?.includes(MODULES) === false;
  }

  /** Whether a path is in a package that is installed in the project; it need not exist. */
  hasPackage(place: string): boolean {
    return this.#namesOf(place)?.includes(MODULES) === true;
  }

  /** Path of a file below the project's folder, with `/`; `undefined` for a file elsewhere. */
  placeOf(file: string | undefined): string | undefined {
    return file === undefined ? undefined : this.#namesOf(file)?.join("/");
  }

  /** The names of the folders down to a path, and its own; `undefined` for a path elsewhere. */
  #namesOf(place: string): readonly string[] | undefined {
    return isIn(place, this.folder) ? path.relative(this.folder, place).split(path.sep) : undefined;
  }

  /** The tsconfig.json files that were read. */
  get configFiles(): ReadonlySet<string> {
    return this.#configs.files;
  }

  /** Targets of an import by the project's tsconfig.json, best first. None for an import by a package. */
  async targets(specifier: string, importer: string | undefined): Promise<readonly string[]> {
    if (importer === undefined || specifier.startsWith(".") || !this.isOwn(importer)) return [];
    return this.#configs.targets(specifier, path.dirname(importer));
  }

  /** The text of a tsconfig.json with the options for a module. */
  async optionsFor(file: string): Promise<string> {
    return this.isOwn(file) ? this.#configs.optionsFor(file) : PLAIN;
  }

  /** The refusal of an import because of a link at its place; `null` if a link is not the reason. */
  async refusedLink(specifier: string, folder: string): Promise<Refusal | null> {
    const isPath = namesPath(specifier) || path.isAbsolute(specifier);
    const name = packageName(specifier);
    const places = isPath
      ? [path.resolve(folder, specifier)]
      : packageFolders(folder).map((one) => path.join(one, name));
    for (const place of places.filter((one) => this.encloses(one))) {
      const problem = await this.#linkProblem(place);
      if (problem !== undefined) return refusedImport(specifier, problem);
    }
    return null;
  }

  /** The reason why a package may not import this file; `undefined` for one that is not the project's own. */
  refusalToPackage(file: string | undefined): string | undefined {
    if (file === undefined || !this.isOwn(file)) return undefined;
    return "which is a file of the project; an installed package may import packages only";
  }

  /** The reason why an import of this file is refused. `undefined`: a name that leads out of its package. */
  refusalOf(file: string | undefined): string {
    if (file !== undefined && isIn(file, this.folder))
      return "which is a hidden file of the project; a tool may import those of its own folder only";
    return `which ${this.#leadsOut()}`;
  }

  /** The fault of a link; `undefined` for one that leads to a place in the project, and if there is no link. */
  async #linkProblem(place: string): Promise<string | undefined> {
    try {
      return this.encloses(await realpath(place)) ? undefined : `a link that ${this.#leadsOut()}`;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ELOOP") return "a link that leads in a circle; make it anew";
      const isLink = (await lstat(place).catch(() => undefined))?.isSymbolicLink() === true;
      return isLink ? "a link to nothing; install the packages of the project again" : undefined;
    }
  }

  #leadsOut(): string {
    const name = JSON.stringify(this.name);
    return `leads out of the project ${name}; move it into the project, or name a folder around both as root`;
  }
}

/** Folders above an installed package, and above the user's home folder, do not belong to the tool. */
function isCandidate(folder: string, home: string | undefined): boolean {
  const isTop = path.dirname(folder) === folder;
  return (
    !isTop && path.basename(folder) !== MODULES && (home === undefined || !(folder === home || isIn(home, folder)))
  );
}

async function readManifest(folder: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const file = path.join(folder, "package.json");
  try {
    const found = await stat(file);
    if (!found.isFile() || found.size > MAX_MANIFEST_BYTES) return undefined;
    const manifest: unknown = JSON.parse(await readFile(file, "utf8"));
    return isObject(manifest) ? manifest : undefined;
  } catch {
    // A file that is missing or not JSON is no sign of a project.
    return undefined;
  }
}

function nameOf(manifest: Readonly<Record<string, unknown>> | undefined, folder: string): string {
  const name = manifest?.["name"];
  return typeof name === "string" && name !== "" && name.length <= NAME_MAX ? name : path.basename(folder);
}

async function isFile(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined))?.isFile() === true;
}
