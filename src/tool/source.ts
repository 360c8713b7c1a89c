import { readdir, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { GloveboxError } from "../base/errors.ts";
import type { Project, ProjectOptions } from "./bundle/project.ts";
import { isIn } from "./bundle/specifier.ts";
import { readFileAt } from "./package/file.ts";
import { hasCode, looksLikePackage } from "./package/layout.ts";
import { isArchiveName, isUrl, packageStem } from "./package/location.ts";

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
const EXTENSIONS: readonly string[] = [".js", ".mjs", ".ts", ".py", ".wasm"];
const INDEX_FILES: readonly string[] = ["index.ts", "index.mjs", "index.js"];
/** The file that marks a folder as a Python package. */
const PYTHON_INDEX = "__init__.py";
/** Files beside tools that are not tools: types, tests, and files of Python's test runners and installers. */
const NO_TOOL = /\.d\.ts$|\.test\.[^.]+$|^test_.*\.py$|_test\.py$|^(?:conftest|setup)\.py$/;
/** Names that mark an `__init__.py` as a tool rather than only as an importable folder. */
const TOOL_NAMES = /\b(?:TOOL_SPEC|AgentSpaceV1Tool|mount|execute|list_tools)\b|^spec\b|^@tool\b/m;
const INDEX_BYTES_MAX = 256 * 1024;

/**
 * The tools at a path, sorted by name: a module; a folder with an `index` file or an `__init__.py`, which is one tool;
 * a package, as a folder, an archive or the URL of one; or a folder of any of these. `isOnePackage`: treat a folder as
 * one package. `project`: of the operator, whose folder may have links to any place in its project. Throws a
 * `GloveboxError` with `load_error` that names the path as given.
 */
export async function findSources(
  given: string,
  isOnePackage = false,
  project?: ProjectOptions,
): Promise<readonly ToolSource[]> {
  if (isUrl(given)) return [{ kind: "package", path: given, name: given.replace(/[?#].*$/s, "") }];
  const found = await stat(given).catch(() => undefined);
  if (found === undefined)
    throw loadError(given, "does not exist; check the path, which is relative to the working directory");
  if (found.isDirectory() && isOnePackage) return [packageSource(path.resolve(given))];
  if (found.isDirectory()) return findInFolder(path.resolve(given), given, project);
  if (found.isFile() && isArchiveName(given)) return [packageSource(path.resolve(given))];
  if (!found.isFile() || !isModuleName(path.basename(given))) {
    throw loadError(
      given,
      `is not a module; a tool is a file that ends in ${EXTENSIONS.join(", ")}, a package (a folder with code/, or one packed as .zip, .tar.gz or .tgz), or a folder of them`,
    );
  }
  return [moduleSource(path.resolve(given))];
}

async function findInFolder(
  folder: string,
  given: string,
  options: ProjectOptions | undefined,
): Promise<readonly ToolSource[]> {
  const index = await indexFile(folder);
  if (index !== undefined) return [{ kind: "module", path: index, name: path.basename(folder) }];
  if (await looksLikePackage(folder)) return [packageSource(folder)];
  const sources: ToolSource[] = [];
  const root = await realpath(folder);
  let project: Promise<Project | undefined> | undefined;
  for (const name of await readdir(folder)) {
    const source = await sourceOf(path.join(folder, name));
    if (source === undefined) continue;
    // A link must not bring in files of the host that the folder's author does not own.
    const real = await realpath(source.path);
    if (!isIn(real, root) && options !== undefined) project ??= projectAround(root, options);
    if (!isIn(real, root) && (await project)?.encloses(real) !== true) {
      throw loadError(given, `holds ${name}, a link to a file outside the folder; register the target by its own path`);
    }
    sources.push(source);
    if (sources.length > MAX_TOOLS) throw loadError(given, `holds more than ${MAX_TOOLS} tools; split it`);
  }
  // A folder with nothing but code: opening it as a package reports the missing parts.
  if (sources.length === 0 && (await hasCode(folder))) return [packageSource(folder)];
  if (sources.length === 0) {
    throw loadError(
      given,
      `holds no tools; add modules (${EXTENSIONS.join(", ")}), folders with an index file, or packages`,
    );
  }
  return withoutCopies(sources).sort((a, b) => order(a.name, b.name) || order(a.path, b.path));
}

async function projectAround(folder: string, options: ProjectOptions): Promise<Project | undefined> {
  const { Project } = await import("./bundle/project.ts");
  return Project.around(folder, options);
}

/** Removes archives of packages that also exist as a folder or in another archive format: they are one tool. */
function withoutCopies(sources: readonly ToolSource[]): ToolSource[] {
  const packages = sources.filter(({ kind }) => kind === "package").sort((a, b) => order(a.path, b.path));
  const stems = new Set<string>();
  // A folder's name is shorter than its archives' names, so it sorts first.
  const copies = packages.filter(({ name }) => stems.size === stems.add(packageStem(name)).size);
  return sources.filter((source) => !copies.includes(source));
}

async function sourceOf(entry: string): Promise<ToolSource | undefined> {
  const name = path.basename(entry);
  if (name.startsWith(".") || name.startsWith("_") || name === "node_modules") return undefined;
  const found = await stat(entry).catch(() => undefined);
  if (found?.isFile() === true) {
    if (isArchiveName(name)) return packageSource(entry);
    return isModuleName(name) && !NO_TOOL.test(name) ? moduleSource(entry) : undefined;
  }
  if (found?.isDirectory() !== true) return undefined;
  const index = await indexFile(entry);
  if (index !== undefined) return { kind: "module", path: index, name };
  return (await hasCode(entry)) || (await looksLikePackage(entry)) ? packageSource(entry) : undefined;
}

/** The file that makes a folder one tool; or `undefined`. */
async function indexFile(folder: string): Promise<string | undefined> {
  for (const name of INDEX_FILES) {
    const file = path.join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile() === true) return file;
  }
  const file = path.join(folder, PYTHON_INDEX);
  const text = await readFileAt(file, PYTHON_INDEX, INDEX_BYTES_MAX).catch(() => undefined);
  return text !== undefined && TOOL_NAMES.test(text.toString("utf8")) ? file : undefined;
}

function isModuleName(name: string): boolean {
  return EXTENSIONS.includes(path.extname(name)) && !name.endsWith(".d.ts");
}

function moduleSource(file: string): ToolSource {
  const isPackage = path.basename(file) === PYTHON_INDEX;
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
