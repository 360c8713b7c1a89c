import { readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { packageFolder, packageFolders, packageName } from "./specifier.ts";

const MAX_MANIFEST_BYTES = 1024 * 1024;
/** Suffixes that a module specifier may leave out of its file name. */
const ENDINGS: readonly string[] = ["", ".js", ".mjs", ".cjs", ".ts", ".json", "/index.js", "/index.ts"];

/** The properties of a file from the `package.json` files above it. */
export interface Manifest {
  /**
   * Whether a `.js` file is an ES module in Node's sense: its default import of a CommonJS module is then all of
   * `module.exports`.
   */
  readonly isModule: boolean;
  /** Whether a module is kept even if none of its exports is used; `undefined` if a list of patterns decides. */
  readonly sideEffects: boolean | undefined;
  /** The files that the `browser` field replaces by an empty module; `undefined` without such a field. */
  readonly leftOut: readonly string[] | undefined;
  /** Replacements of other modules by the `browser` field, by their names: `false` for nothing. */
  readonly replaced: ReadonlyMap<string, unknown>;
  /** The folder of its file. */
  readonly folder: string;
  readonly exports: unknown;
  /** All conditions in its `exports`. */
  readonly conditions: ReadonlySet<string>;
}

const NOTHING: Manifest = {
  isModule: false,
  sideEffects: true,
  leftOut: undefined,
  replaced: new Map(),
  folder: "",
  exports: undefined,
  conditions: new Set(),
};

/** The `package.json` files of one tool: esbuild reads them as well, but does not pass all their fields to plugins. */
export class Manifests {
  readonly #mayRead: (file: string) => boolean;
  readonly #read = new Map<string, Promise<Manifest>>();
  readonly #files = new Set<string>();

  constructor(mayRead: (file: string) => boolean) {
    this.#mayRead = mayRead;
  }

  /** Paths of the files that were read. */
  get files(): ReadonlySet<string> {
    return this.#files;
  }

  of(file: string): Promise<Manifest> {
    return this.#in(path.dirname(file));
  }

  /** Whether the package of an import is installed for a module in a folder, whatever it has. */
  async hasPackage(specifier: string, folder: string): Promise<boolean> {
    const roots = packageFolders(folder).map((one) => path.join(one, packageName(specifier)));
    for (const root of roots) if ((await this.of(path.join(root, "package.json"))).folder === root) return true;
    return false;
  }

  #in(folder: string): Promise<Manifest> {
    const file = path.join(folder, "package.json");
    if (!this.#mayRead(file)) return Promise.resolve(NOTHING);
    let found = this.#read.get(folder);
    if (found === undefined) this.#read.set(folder, (found = this.#readOne(file, folder)));
    return found;
  }

  /**
   * The nearest file applies, except for the `browser` field, which applies until the next file that has one, and for
   * `exports`, which belong to the package: its folders may have files with only `type`.
   */
  async #readOne(file: string, folder: string): Promise<Manifest> {
    const outer = path.dirname(folder);
    const above = outer === folder ? Promise.resolve(NOTHING) : this.#in(outer);
    const own = await this.#parse(file).then(
      (json) => manifestOf(json, folder),
      // A file that is missing or not JSON is ignored.
      () => undefined,
    );
    if (own === undefined) return above;
    const around = await above;
    const { leftOut, replaced } = own.leftOut === undefined ? around : own;
    const isInner = own.exports === undefined && packageFolder(outer) === packageFolder(folder);
    const { exports, conditions } = isInner ? around : own;
    return { ...own, leftOut, replaced, exports, conditions };
  }

  async #parse(file: string): Promise<unknown> {
    const real = await realpath(file);
    const found = await stat(real);
    const isOurs = this.#mayRead(real) && found.isFile() && found.size <= MAX_MANIFEST_BYTES;
    if (!isOurs) return undefined;
    this.#files.add(real);
    return JSON.parse(await readFile(real, "utf8"));
  }
}

/** Whether a path without its suffix means the file. */
export function isAt(file: string, place: string): boolean {
  return ENDINGS.some((ending) => file === place + ending);
}

/** Whether a package replaces this file by an empty module outside of Node. The file need not exist. */
export function isLeftOut(file: string, { leftOut = [] }: Manifest): boolean {
  return leftOut.some((left) => isAt(left, file) || isAt(file, left));
}

function manifestOf(json: unknown, folder: string): Manifest | undefined {
  if (typeof json !== "object" || json === null) return undefined;
  const { browser, type, sideEffects, exports } = json as { readonly [field: string]: unknown };
  return {
    isModule: type === "module",
    sideEffects: typeof sideEffects === "boolean" ? sideEffects : sideEffects === undefined ? true : undefined,
    leftOut: leftOutBy(browser, folder),
    replaced: new Map(typeof browser === "object" && browser !== null ? Object.entries(browser) : []),
    folder,
    exports,
    conditions: new Set(conditionsOf(exports)),
  };
}

/** The keys of a package's `exports` that are no parts of it. */
function conditionsOf(exports: unknown): readonly string[] {
  if (typeof exports !== "object" || exports === null) return [];
  const found = Object.entries(exports).map(([key, inner]) => [key, ...conditionsOf(inner)]);
  return found.flat().filter((key) => !key.startsWith("."));
}

/** A field that names one file for the whole package leaves no file out. */
function leftOutBy(browser: unknown, folder: string): readonly string[] | undefined {
  if (typeof browser === "string") return [];
  return typeof browser === "object" && browser !== null ? filesWithout(browser, folder) : undefined;
}

function filesWithout(browser: object, folder: string): readonly string[] {
  const names = Object.entries(browser).filter(([name, by]) => by === false && name.startsWith("."));
  return names.map(([name]) => path.resolve(folder, name));
}
