import { lstat } from "node:fs/promises";
import path from "node:path";
import type { PythonFile } from "./python-file.ts";
import { requirePath } from "../../kernel/tool/package/entry.ts";
import { readFileAt } from "../../kernel/tool/package/file.ts";
import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import { importsIn } from "./imports.ts";
import { pythonFile, SCRIPT_BYTES_MAX } from "./python-file.ts";

const PACKAGE_FILE = "__init__.py";
/** File name of a tool whose file has another ending. */
const TEXT_FILE = "tool.py";
/** A folder with another name is no package, with any content. */
const NAME = /^[A-Za-z_]\w*$/;
const FILES_MAX = 1_000;
const DEPTH_MAX = 20;

/** A module's file, with the modules of its own package that it imports. */
export interface ModuleFiles {
  readonly entry: string;
  readonly files: { readonly [path: string]: PythonFile };
  /** Other modules that they import, by their first names. */
  readonly others: ReadonlySet<string>;
}

/**
 * Reads a module by its file. A module in a package, whose folder has an `__init__.py`, includes the modules of that
 * package that it imports, and their imports. `file` is not a link; `base`: its name in the request. Rejects with a
 * `PackageError`.
 */
export async function readModuleFiles(file: string, base: string): Promise<ModuleFiles> {
  const { root, inside } = await packageAround(file);
  const entry = base.endsWith(".py") ? requirePath([...inside, base].join("/")) : TEXT_FILE;
  const reading = new ModuleReading(root, inside[0]);
  if (!(await reading.read(entry, [...inside, path.basename(file)].join("/")))) {
    throw new PackageError(`it has no file ${quoted(base)}; check its path`);
  }
  await reading.finish();
  return { entry, files: Object.fromEntries(reading.files), others: reading.others };
}

/** The folder above the topmost package that a file is in, and the folders from there. */
async function packageAround(file: string): Promise<{ readonly root: string; readonly inside: readonly string[] }> {
  let root = path.dirname(file);
  const inside: string[] = [];
  while (inside.length < DEPTH_MAX && NAME.test(path.basename(root)) && (await isFile(path.join(root, PACKAGE_FILE)))) {
    inside.unshift(path.basename(root));
    root = path.dirname(root);
  }
  return { root, inside };
}

async function isFile(file: string): Promise<boolean> {
  return (await lstat(file).catch(() => undefined))?.isFile() === true;
}

class ModuleReading {
  readonly files = new Map<string, PythonFile>();
  readonly others = new Set<string>();
  readonly #root: string;
  /** The name of the topmost package; `undefined` for a module that is in none. */
  readonly #top: string | undefined;
  /** Modules to find, by their dotted names. */
  readonly #wanted = new Set<string>();
  #bytesLeft = SCRIPT_BYTES_MAX;

  constructor(root: string, top: string | undefined) {
    this.#root = root;
    this.#top = top;
  }

  /** Reads a file, under its name in the script. Returns whether it exists. */
  async read(name: string, file = name): Promise<boolean> {
    if (this.files.has(name)) return true;
    const full = path.join(this.#root, file);
    const bytes = (await isFile(full)) ? await readFileAt(full, name, this.#bytesLeft) : undefined;
    if (bytes === undefined) return false;
    if (this.files.size === FILES_MAX)
      throw new PackageError(`it imports more than ${FILES_MAX} modules of its package`);
    this.#bytesLeft -= bytes.length;
    const content = pythonFile(name, bytes);
    this.files.set(name, content);
    const folder = path.posix.dirname(name);
    const text = typeof content === "string" ? content : bytes.toString("latin1");
    if (folder !== ".") this.#wanted.add(folder.replaceAll("/", "."));
    for (const one of importsIn(text, folder === "." ? "" : folder.replaceAll("/", "."))) this.#note(one);
    return true;
  }

  /** Reads all wanted modules, and those that they import. */
  async finish(): Promise<void> {
    // The iteration of a set includes elements that are added meanwhile.
    for (const module of this.#wanted) {
      const inside = module.replaceAll(".", "/");
      if (!(await this.read(`${inside}/${PACKAGE_FILE}`))) await this.read(`${inside}.py`);
    }
  }

  #note(module: string): void {
    const [first = ""] = module.split(".", 1);
    if (first !== this.#top) {
      if (first !== "") this.others.add(first);
      return;
    }
    for (let end = module.indexOf("."); end >= 0; end = module.indexOf(".", end + 1)) {
      this.#wanted.add(module.slice(0, end));
    }
    this.#wanted.add(module);
  }
}
