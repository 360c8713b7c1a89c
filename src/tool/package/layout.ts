import { lstat, open, opendir } from "node:fs/promises";
import path from "node:path";
import { describeExcess } from "../../base/json.ts";
import { readFileAt } from "./file.ts";
import { PackageError, quoted } from "./step.ts";

/** What a package has to run. Paths are relative to its folder. */
export type PackageLayout =
  | { readonly kind: "module"; readonly entry: string }
  | { readonly kind: "python"; readonly entry: string }
  | { readonly kind: "wasi"; readonly entry: string }
  | { readonly kind: "native"; readonly entry: string };

/** The folder within a package that holds what is run. */
export const CODE = "code";
/** The file beside it that says what the package is. */
const RECORD = "tool.json";
const RECORD_BYTES_MAX = 256 * 1024;
const MODULES: readonly string[] = ["function.ts", "function.mjs", "function.js"];
const PYTHON = "function.py";
const WASM_MAGIC = Buffer.from("\0asm");
/** What may lie beside a module or a binary, and is neither. */
const DEPENDENCIES: readonly string[] = ["requirements.txt", "package.json"];
/** What the archiver of a desktop adds to everything. */
const MACOS = "__MACOSX";
const LISTED_MAX = 10_000;

/** The folder that holds `code/`: an archive's root, or the one folder at its root that does. */
export async function findRoot(extracted: string): Promise<string> {
  if (await isFolder(path.join(extracted, CODE))) return extracted;
  const roots: string[] = [];
  for (const name of await namesIn(extracted)) {
    if (name !== MACOS && (await isFolder(path.join(extracted, name, CODE)))) roots.push(path.join(extracted, name));
  }
  const [root, another] = roots;
  if (another !== undefined) throw new PackageError(`more than one folder contains a folder ${CODE}/`);
  if (root === undefined) throw noCode();
  return root;
}

/** Whether a folder is a package by the look of it. */
export async function looksLikePackage(folder: string): Promise<boolean> {
  for (const name of [...MODULES, PYTHON]) {
    if (await isFile(path.join(folder, CODE, name))) return true;
  }
  return false;
}

/** Whether a folder holds `code/`. */
export function hasCode(folder: string): Promise<boolean> {
  return isFolder(path.join(folder, CODE));
}

/** Finds what a package has to run. Rejects with a `PackageError` that names what is missing. */
export async function readLayout(root: string): Promise<PackageLayout> {
  const code = path.join(root, CODE);
  if (!(await isFolder(code))) throw noCode();
  for (const name of MODULES) {
    if (await isFile(path.join(code, name))) return { kind: "module", entry: `${CODE}/${name}` };
  }
  if (await isFile(path.join(code, PYTHON))) return { kind: "python", entry: `${CODE}/${PYTHON}` };
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
  return { kind: (await isWebAssembly(path.join(code, file))) ? "wasi" : "native", entry: `${CODE}/${file}` };
}

/** By the first bytes of a file. Whoever runs what is native says what it must be. */
async function isWebAssembly(file: string): Promise<boolean> {
  await using handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(WASM_MAGIC.length), 0, WASM_MAGIC.length, 0);
  return WASM_MAGIC.equals(buffer);
}

/** What the package says of itself, as JSON; `undefined` where it says nothing. What it means is not looked at. */
export async function readRecord(root: string): Promise<unknown> {
  const bytes = await readFileAt(path.join(root, RECORD), RECORD, RECORD_BYTES_MAX);
  return bytes === undefined ? undefined : parseJson(bytes, RECORD);
}

/** Reads JSON out of a package. */
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

/** Names that mean something, sorted. */
async function namesIn(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  let listed = 0;
  for await (const { name } of await opendir(folder)) {
    if (++listed > LISTED_MAX) throw new PackageError(`one of its folders has more than ${LISTED_MAX} entries`);
    if (!name.startsWith(".")) names.push(name);
  }
  return names.sort();
}

/** Links count as nothing: what one leads to is not the package's. */
async function isFolder(file: string): Promise<boolean> {
  return (await lstat(file).catch(() => undefined))?.isDirectory() === true;
}

async function isFile(file: string): Promise<boolean> {
  return (await lstat(file).catch(() => undefined))?.isFile() === true;
}
