import { readdir, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { GloveboxError } from "../base/errors.ts";
import type { Project, ProjectOptions } from "./bundle/project.ts";
import { isIn } from "./bundle/specifier.ts";
import { readFileAt } from "./package/file.ts";
import { hasCode, looksLikePackage, type ProjectForms } from "./package/layout.ts";
import { isArchiveName, isUrl, packageStem } from "./package/location.ts";
import { projectsOf, readersOf, type RuntimeReader, type ToolRuntimes } from "./runtimes/runtime.ts";

/** A module on disk, or a package. */
export type ToolSource =
  | {
      readonly kind: "module";
      /** Absolute path of the module's file. */
      readonly path: string;
      /** Name of the file or folder: the tool's name if its `spec` gives none. */
      readonly name: string;
    }
  | {
      readonly kind: "package";
      /** Absolute path of a folder or an archive, or a URL. */
      readonly path: string;
      readonly name: string;
    };

const MAX_TOOLS = 1_000;
/** Extensions that replace Node's information from a package.json. */
const MARKED: readonly string[] = [".cjs", ".mts", ".cts"];
const EXTENSIONS: readonly string[] = [".js", ".mjs", ".ts", ...MARKED];
const INDEX_FILES: readonly string[] = ["index.ts", "index.mjs", "index.js", ...MARKED.map((one) => `index${one}`)];
/** Files in folders of tools that are not tools: types and tests. */
const NO_TOOL = /\.d\.[cm]?ts$|\.test\.[^.]+$/;
const INDEX_BYTES_MAX = 256 * 1024;

export interface FindOptions {
  /** Runtimes other than JavaScript. */
  readonly runtimes: ToolRuntimes;
  /** Treat a folder as one package. */
  readonly isOnePackage?: true;
  /** For the operator, whose folder may have links to any place in its project. */
  readonly project?: ProjectOptions | undefined;
}

/** Forms of the files that are tools of their own. */
interface FileForms {
  readonly extensions: readonly string[];
  readonly readers: readonly RuntimeReader[];
  readonly projects: ProjectForms;
}

/**
 * The tools at a path, sorted by name: a module; a folder with an `index` file, or another that its runtime has for one,
 * which is one tool; a package, as a folder, an archive or the URL of one; or a folder of any of these. Throws a
 * `GloveboxError` with `load_error` that names the path as given.
 */
export async function findSources(
  given: string,
  { runtimes, isOnePackage, project }: FindOptions,
): Promise<readonly ToolSource[]> {
  const readers = [...readersOf(runtimes).values()];
  const extensions = [...EXTENSIONS, ...readers.flatMap((reader) => reader.extensions)];
  const forms: FileForms = { extensions, readers, projects: projectsOf(runtimes) };
  if (isUrl(given)) return [{ kind: "package", path: given, name: given.replace(/[?#].*$/s, "") }];
  const found = await stat(given).catch(() => undefined);
  if (found === undefined) {
    const base = path.isAbsolute(given) ? "" : ", which is relative to the working directory";
    throw loadError(given, `does not exist; check the path${base}`);
  }
  if (found.isDirectory() && isOnePackage === true) return [packageSource(path.resolve(given))];
  if (found.isDirectory()) return findInFolder(path.resolve(given), given, forms, project);
  if (found.isFile() && isArchiveName(given)) return [packageSource(path.resolve(given))];
  if (!found.isFile() || !isModuleName(path.basename(given), forms)) {
    throw loadError(
      given,
      `is not a module; a tool is a file that ends in ${extensions.join(", ")}, a package (a folder with code/, or one packed as .zip, .tar.gz or .tgz), or a folder of them`,
    );
  }
  return [moduleSource(path.resolve(given), forms)];
}

async function findInFolder(
  folder: string,
  given: string,
  forms: FileForms,
  options: ProjectOptions | undefined,
): Promise<readonly ToolSource[]> {
  const index = await indexFile(folder, forms);
  if (index !== undefined) return [{ kind: "module", path: index, name: path.basename(folder) }];
  if (await looksLikePackage(folder, forms.projects)) return [packageSource(folder)];
  const sources: ToolSource[] = [];
  const root = await realpath(folder);
  let project: Promise<Project | undefined> | undefined;
  for (const name of await readdir(folder)) {
    const source = await sourceOf(path.join(folder, name), forms);
    if (source === undefined) continue;
    // A link must not include files of the host that the folder's author does not own.
    const real = await realpath(source.path);
    if (!isIn(real, root) && options !== undefined) project ??= projectAround(root, options);
    if (!isIn(real, root) && (await project)?.encloses(real) !== true) {
      throw loadError(given, `holds ${name}, a link to a file outside the folder; register the target by its own path`);
    }
    sources.push(source);
    if (sources.length > MAX_TOOLS) throw loadError(given, `holds more than ${MAX_TOOLS} tools; split it`);
  }
  // A folder with only code: opening it as a package reports the missing parts.
  if (sources.length === 0 && (await hasCode(folder))) return [packageSource(folder)];
  if (sources.length === 0) {
    throw loadError(
      given,
      `holds no tools; add modules (${forms.extensions.join(", ")}), folders with an index file, or packages`,
    );
  }
  return withoutCopies(sources).sort((a, b) => order(a.name, b.name) || order(a.path, b.path));
}

async function projectAround(folder: string, options: ProjectOptions): Promise<Project | undefined> {
  const { Project } = await import("./bundle/project.ts");
  return Project.around(folder, options);
}

/**
 * Removes archives of packages that also exist as a folder or in another archive format, and modules that were also
 * built in another format under the same name: they are one tool.
 */
function withoutCopies(sources: readonly ToolSource[]): ToolSource[] {
  const packages = sources.filter(({ kind }) => kind === "package").sort((a, b) => order(a.path, b.path));
  const stems = new Set<string>();
  // A folder's name is shorter than its archives' names, so it sorts first.
  const copies = packages.filter(({ name }) => stems.size === stems.add(packageStem(name)).size);
  const isMarked = ({ kind, path: file }: ToolSource): boolean =>
    kind === "module" && MARKED.includes(path.extname(file));
  const names = new Set(
    sources
      .filter(({ kind }) => kind === "module")
      .filter((one) => !isMarked(one))
      .map(({ name }) => name),
  );
  return sources.filter((source) => !copies.includes(source) && !(isMarked(source) && names.has(source.name)));
}

async function sourceOf(entry: string, forms: FileForms): Promise<ToolSource | undefined> {
  const name = path.basename(entry);
  if (name.startsWith(".") || name.startsWith("_") || name === "node_modules") return undefined;
  const found = await stat(entry).catch(() => undefined);
  if (found?.isFile() === true) {
    if (isArchiveName(name)) return packageSource(entry);
    return isModuleName(name, forms) && !isBeside(name, forms) ? moduleSource(entry, forms) : undefined;
  }
  if (found?.isDirectory() !== true) return undefined;
  const index = await indexFile(entry, forms);
  if (index !== undefined) return { kind: "module", path: index, name };
  return (await hasCode(entry)) || (await looksLikePackage(entry, forms.projects)) ? packageSource(entry) : undefined;
}

/** The file that makes a folder one tool; or `undefined`. */
async function indexFile(folder: string, { readers }: FileForms): Promise<string | undefined> {
  for (const name of INDEX_FILES) {
    const file = path.join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile() === true) return file;
  }
  for (const { index } of readers) {
    if (index === undefined) continue;
    const file = path.join(folder, index.file);
    const text = await readFileAt(file, index.file, INDEX_BYTES_MAX).catch(() => undefined);
    if (text !== undefined && index.marks.test(text.toString("utf8"))) return file;
  }
  return undefined;
}

function isModuleName(name: string, { extensions }: FileForms): boolean {
  return extensions.includes(path.extname(name)) && !/\.d\.[cm]?ts$/.test(name);
}

function isBeside(name: string, { readers }: FileForms): boolean {
  return NO_TOOL.test(name) || readers.some(({ beside }) => beside?.test(name) === true);
}

function moduleSource(file: string, { readers }: FileForms): ToolSource {
  const isPackage = readers.some(({ index }) => index?.file === path.basename(file));
  const name = path.basename(isPackage ? path.dirname(file) : file, isPackage ? "" : path.extname(file));
  return { kind: "module", path: file, name };
}

function packageSource(place: string): ToolSource {
  return { kind: "package", path: place, name: path.basename(place) };
}

function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function loadError(given: string, problem: string): GloveboxError {
  return new GloveboxError("load_error", `${given} ${problem}`);
}
