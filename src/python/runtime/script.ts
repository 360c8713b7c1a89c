import { lstat, opendir, realpath } from "node:fs/promises";
import path from "node:path";
import { requirePath } from "../../kernel/tool/package/entry.ts";
import { readFileAt } from "../../kernel/tool/package/file.ts";
import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import type { PythonFile, PythonScript } from "./python-file.ts";
import type { Libraries } from "./libraries.ts";
import { importsIn } from "./imports.ts";
import { readModuleFiles } from "./module-files.ts";
import { pythonFile, SCRIPT_BYTES_MAX } from "./python-file.ts";

/** File name of a tool given as text. */
const TEXT_FILE = "tool.py";
/** The file that marks a folder as a Python package. */
const PACKAGE_FILE = "__init__.py";
const CACHE = "__pycache__";
const FILES_MAX = 1_000;
const ASCII_MAX = 0x7f;
const WIDE = /[\u0080-\uffff]/g;
/** Share of such characters up to which escaping them makes the text shorter in memory. */
const WIDE_COST = 10;
const LISTED_MAX = 10_000;

/** A script in the form of `ToolScript.text`. Throws a `PackageError` for one that is too large. */
export function scriptText(script: PythonScript, libraries: Libraries = new Map()): string {
  const json = JSON.stringify(libraries.size === 0 ? script : { ...script, libraries: [...libraries.keys()] });
  const text = Object.keys(script.packages).length === 0 ? json : narrow(json);
  const bytes = Buffer.byteLength(text);
  if (bytes > SCRIPT_BYTES_MAX) {
    throw new PackageError(`it is ${bytes} bytes with all that it needs, more than ${SCRIPT_BYTES_MAX}`);
  }
  const codes = [...libraries.values()].map(({ bytes: code }) => `\n${Buffer.from(code).toString("base64")}`);
  return text + codes.join("");
}

/**
 * JSON in which all characters are ASCII, if few are not: a single other one would make each character of the text two
 * or four bytes long, in V8 and in Python.
 */
function narrow(text: string): string {
  let wide = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > ASCII_MAX) wide++;
  return wide > 0 && wide * WIDE_COST < text.length ? text.replaceAll(WIDE, escaped) : text;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The script of a tool given as text. Throws a `PackageError`. */
export function scriptOfText(text: string): PythonScript {
  if (!text.isWellFormed()) throw new PackageError("its source is not well-formed text: it has a lone surrogate");
  const source = text.replace(/^\ufeff/, "");
  if (Buffer.byteLength(source) > SCRIPT_BYTES_MAX)
    throw new PackageError(`its source is larger than ${SCRIPT_BYTES_MAX} bytes`);
  return checked({ entry: TEXT_FILE, files: { [TEXT_FILE]: source }, packages: {} });
}

/**
 * The script of a tool in a file, with the modules of its package that it imports; or in a Python package if the file is
 * its `__init__.py`. Rejects with a `PackageError`.
 */
export async function scriptOfFile(file: string): Promise<ReadFile> {
  const real = await realpath(file).catch(() => undefined);
  if (real === undefined) throw new PackageError(`it has no file ${quoted(path.basename(file))}; check its path`);
  if (path.basename(real) === PACKAGE_FILE) {
    const script = await scriptOfPythonPackage(path.dirname(real));
    return { script, others: othersIn(script) };
  }
  const { entry, files, others } = await readModuleFiles(real, path.basename(file));
  return { script: checked({ entry, files, packages: {} }), others };
}

/** A script, and the modules of other packages that it imports, by their first names. */
export interface ReadFile {
  readonly script: PythonScript;
  readonly others: ReadonlySet<string>;
}

/** The script of a package in a folder; `entry` is the path of the tool's file in it. Rejects with a `PackageError`. */
export async function scriptOfPackage(
  folder: string,
  entry: string,
  packages: PythonScript["packages"],
): Promise<PythonScript> {
  const { dir, base } = path.posix.parse(entry);
  return checked({ entry: base, files: await readFiles(path.join(folder, dir), ""), packages });
}

/** The script of a project's module; `entry` is its file below `root`. Rejects with a `PackageError`. */
export async function scriptOfProject(
  root: string,
  entry: string,
  packages: PythonScript["packages"],
): Promise<PythonScript> {
  const [first = "", ...inside] = entry.split("/");
  if (inside.length > 0)
    return checked({ entry, files: await readFiles(path.join(root, first), `${first}/`), packages });
  return { ...(await scriptOfFile(path.join(root, entry))).script, packages };
}

async function scriptOfPythonPackage(folder: string): Promise<PythonScript> {
  const name = path.basename(folder);
  return checked({ entry: `${name}/${PACKAGE_FILE}`, files: await readFiles(folder, `${name}/`), packages: {} });
}

/** Imports of the modules of a package, by their first names; also the package itself, as its name is unique. */
function othersIn({ files }: PythonScript): ReadonlySet<string> {
  const modules = Object.entries(files).flatMap(([name, content]) =>
    name.endsWith(".py") && typeof content === "string"
      ? [...importsIn(content, path.posix.dirname(name).replaceAll("/", "."))]
      : [],
  );
  return new Set(modules.map((module) => module.split(".", 1)[0] ?? ""));
}

function checked(script: PythonScript): PythonScript {
  const entry = script.files[script.entry];
  if (entry === undefined) throw new PackageError(`it has no file ${quoted(script.entry)}`);
  if (typeof entry === "string" && entry.trim() === "")
    throw new PackageError(`its file ${quoted(script.entry)} is empty`);
  return script;
}

/**
 * All files below a folder, with a prefix to their names; `__pycache__` and names with a leading dot are left out.
 * Links are refused: their targets are not the tool's.
 */
async function readFiles(root: string, prefix: string): Promise<PythonScript["files"]> {
  const files = new Map<string, PythonFile>();
  let [bytesLeft, listed] = [SCRIPT_BYTES_MAX, 0];
  const visit = async (folder: string, inside: string): Promise<void> => {
    const names: string[] = [];
    for await (const { name } of await opendir(folder)) {
      if (++listed > LISTED_MAX) throw new PackageError(`it has more than ${LISTED_MAX} files and folders`);
      if (!name.startsWith(".") && name !== CACHE) names.push(name);
    }
    for (const name of names.sort()) {
      const [file, shown] = [path.join(folder, name), requirePath(inside + name)];
      const found = await lstat(file);
      if (found.isDirectory()) {
        await visit(file, `${shown}/`);
        continue;
      }
      if (found.isSymbolicLink()) throw new PackageError(`${quoted(shown)} is a link; replace it by its target`);
      if (!found.isFile()) throw new PackageError(`${quoted(shown)} is neither a file nor a folder`);
      if (files.size === FILES_MAX) throw new PackageError(`it has more than ${FILES_MAX} files`);
      const bytes = await readFileAt(file, shown, SCRIPT_BYTES_MAX);
      if (bytes === undefined) throw new PackageError(`${quoted(shown)} was removed while it was read`);
      bytesLeft -= bytes.length;
      if (bytesLeft < 0) throw new PackageError(`its files are more than ${SCRIPT_BYTES_MAX} bytes`);
      files.set(shown, pythonFile(shown, bytes));
    }
  };
  await visit(root, prefix);
  return Object.fromEntries(files);
}
