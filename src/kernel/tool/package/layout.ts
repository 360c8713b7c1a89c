import { lstat, open, opendir } from "node:fs/promises";
import path from "node:path";
import { describeExcess } from "../../base/json.ts";
import { readFileAt } from "./file.ts";
import { PackageError, quoted } from "./step.ts";

/** The entry file of a package. Paths are relative to its folder. */
export interface PackageLayout {
  readonly runtime: string;
  /** A module, a binary, or the file of a project that names its module. */
  readonly entry: string;
}

/** The folder within a package that holds its code. */
export const CODE = "code";
/** The file in the same folder that describes the package. */
const RECORD = "tool.json";
const RECORD_BYTES_MAX = 256 * 1024;
const MODULES: readonly string[] = ["function.ts", "function.mjs", "function.js"];
const PYTHON = "function.py";
const WASM_MAGIC = Buffer.from("\0asm");
/** Files in the folder of a module or a binary that are not the entry. */
const DEPENDENCIES: readonly string[] = ["requirements.txt", "package.json"];
/** The folder that macOS adds to archives. */
const MACOS = "__MACOSX";
const LISTED_MAX = 10_000;

/**
 * File that makes a folder a project with a tool of a runtime, by a text in it. A build process reads the rest of it.
 */
export interface ProjectForm {
  readonly file: string;
  readonly marks: string;
  readonly bytesMax: number;
}

/** Projects by the names of their runtimes. */
export type ProjectForms = ReadonlyMap<string, ProjectForm>;

/** The folder with `code/` or a project: an archive's root, or the only folder at its root that has one. */
export async function findRoot(extracted: string, projects: ProjectForms): Promise<string> {
  if (await isRoot(extracted, projects)) return extracted;
  const roots: string[] = [];
  for (const name of await namesIn(extracted)) {
    if (name !== MACOS && (await isRoot(path.join(extracted, name), projects))) roots.push(path.join(extracted, name));
  }
  const [root, another] = roots;
  if (another !== undefined) throw new PackageError(`more than one folder contains a folder ${CODE}/ or a project`);
  if (root === undefined) throw noCode();
  return root;
}

/** Whether a folder looks like a package. */
export async function looksLikePackage(folder: string, projects: ProjectForms): Promise<boolean> {
  for (const name of [...MODULES, PYTHON]) {
    if (await isFile(path.join(folder, CODE, name))) return true;
  }
  return (await projectIn(folder, projects)) !== undefined;
}

/** The project that a folder is, if it is one. */
async function projectIn(folder: string, projects: ProjectForms): Promise<PackageLayout | undefined> {
  for (const [runtime, { file, marks, bytesMax }] of projects) {
    const bytes = await readFileAt(path.join(folder, file), file, bytesMax).catch(() => undefined);
    if (bytes?.includes(marks) === true) return { runtime, entry: file };
  }
  return undefined;
}

async function isRoot(folder: string, projects: ProjectForms): Promise<boolean> {
  return (await isFolder(path.join(folder, CODE))) || (await projectIn(folder, projects)) !== undefined;
}

/** Whether a folder contains `code/`. */
export function hasCode(folder: string): Promise<boolean> {
  return isFolder(path.join(folder, CODE));
}

/** Finds the entry file of a package. Rejects with a `PackageError` that names the missing part. */
export async function readLayout(root: string, projects: ProjectForms): Promise<PackageLayout> {
  const code = path.join(root, CODE);
  if (!(await isFolder(code))) {
    const project = await projectIn(root, projects);
    if (project === undefined) throw noCode();
    return project;
  }
  for (const name of MODULES) {
    if (await isFile(path.join(code, name))) return { runtime: "javascript", entry: `${CODE}/${name}` };
  }
  if (await isFile(path.join(code, PYTHON))) return { runtime: "python", entry: `${CODE}/${PYTHON}` };
  const missing = `${CODE}/ has no file function.ts, function.mjs, function.js or function.py`;
  const names = (await namesIn(code)).filter((name) => !DEPENDENCIES.includes(name));
  const [file, another] = names;
  if (file === undefined) throw new PackageError(`${missing}, and no other file either`);
  if (another !== undefined) {
    throw new PackageError(`${missing}; a binary tool must be a single file, but ${CODE}/ has ${names.length} entries`);
  }
  if (!(await isFile(path.join(code, file)))) {
    throw new PackageError(`${missing}; a binary tool must be a single file, but ${quoted(file)} is not a file`);
  }
  return { runtime: (await isWebAssembly(path.join(code, file))) ? "wasi" : "native", entry: `${CODE}/${file}` };
}

/** Checks the magic bytes only. The native runtime checks its binaries itself. */
async function isWebAssembly(file: string): Promise<boolean> {
  await using handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(WASM_MAGIC.length), 0, WASM_MAGIC.length, 0);
  return WASM_MAGIC.equals(buffer);
}

/** The package's description in `tool.json`, unchecked; `undefined` if it does not exist. */
export async function readRecord(root: string): Promise<unknown> {
  const bytes = await readFileAt(path.join(root, RECORD), RECORD, RECORD_BYTES_MAX);
  return bytes === undefined ? undefined : parseJson(bytes, RECORD);
}

/** Parses JSON from a package. */
export function parseJson(bytes: Buffer, name: string): unknown {
  const text = bytes.toString("utf8").replace(/^\ufeff/, "");
  const excess = describeExcess(text);
  if (excess !== null) throw new PackageError(`${name} is ${excess}`);
  try {
    return JSON.parse(text);
  } catch {
    throw new PackageError(`${name} is not JSON`);
  }
}

function noCode(): PackageError {
  return new PackageError(`it has no folder ${CODE}/, neither at its root nor one level below`);
}

/** Names without a leading dot, sorted. */
async function namesIn(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  let listed = 0;
  for await (const { name } of await opendir(folder)) {
    if (++listed > LISTED_MAX) throw new PackageError(`one of its folders has more than ${LISTED_MAX} entries`);
    if (!name.startsWith(".")) names.push(name);
  }
  return names.sort();
}

/** Links are ignored: their targets are not part of the package. */
async function isFolder(file: string): Promise<boolean> {
  return (await lstat(file).catch(() => undefined))?.isDirectory() === true;
}

async function isFile(file: string): Promise<boolean> {
  return (await lstat(file).catch(() => undefined))?.isFile() === true;
}
