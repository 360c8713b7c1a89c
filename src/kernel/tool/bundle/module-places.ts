import { isUtf8 } from "node:buffer";
import { readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { type Loader, type OnLoadResult, transform, type TransformOptions } from "esbuild";
import { FILES_FOLDER, FILES_KEY } from "../../guest/host.ts";
import { TARGET } from "./imports.ts";
import { MAY_NAME_FILES, namedFiles } from "./named-files.ts";
import { MAX_SOURCE_BYTES } from "./source-budget.ts";
import { isIn, packageFolder } from "./specifier.ts";

/**
 * `import.meta`, `__dirname` and `__filename` of the modules in a bundle, and the files that they name by them. All
 * modules are below one folder that does not exist, so no path of the host gets into a bundle.
 */

/** The name by which modules import their place. The importing module determines the result. */
export const PLACE = "glovebox:place";

/** The bundle's files, as the places of modules need them. */
export interface PlacedFiles {
  /** The path of a module by its displayed name. */
  fileOf(shown: string): string | undefined;
  /** Place of a module below the common folder. */
  placeOf(shown: string): string;
  /** Whether a module may name a file. */
  mayReach(file: string, importer: string): boolean;
  /** Whether a file is the tool's own, and no package's. */
  isOwn(file: string): boolean;
  /** Counts a bundled file. Throws if it is too large. */
  take(file: string, bytes: number): void;
}

/** Gives the modules of one bundle their places. */
export class ModulePlaces {
  readonly #files: PlacedFiles;
  /** The files that a module names, by its displayed name. */
  readonly #named = new Map<string, readonly string[]>();
  /** Displayed names of modules that use `import.meta.resolve`. */
  readonly #resolving = new Set<string>();

  constructor(files: PlacedFiles) {
    this.#files = files;
  }

  /** The text of a module with its place. A module that cannot be parsed is unchanged. */
  async place(contents: string, loader: Loader, sourcefile: string, tsconfigRaw = "{}"): Promise<string> {
    if (!MAY_NAME_FILES.test(contents)) return contents;
    const options = { loader, sourcefile, target: TARGET, charset: "utf8", tsconfigRaw, logLevel: "silent" } as const;
    const made = await withPlace(contents, options).catch(() => contents);
    if (made === contents) return made;
    this.#named.set(sourcefile, namedFiles(contents));
    if (RESOLVE.test(contents)) this.#resolving.add(sourcefile);
    return made;
  }

  /** The module from which a module gets its place. It first leaves the files that the module names. */
  async load(shown: string): Promise<OnLoadResult> {
    const place = this.#files.placeOf(shown);
    const brought: string[] = [];
    for (const name of this.#named.get(shown) ?? []) {
      const bytes = await this.#bring(shown, name);
      const key = path.posix.join(FILES_FOLDER, path.posix.dirname(place), name);
      if (bytes !== undefined) brought.push(`files[${JSON.stringify(key)}] = ${valueOf(bytes)};\n`);
    }
    const key = `Symbol.for(${JSON.stringify(FILES_KEY)})`;
    const start = brought.length === 0 ? "" : `const files = (globalThis[${key}] ??= Object.create(null));\n`;
    const meta = metaOf(place);
    const told = JSON.stringify(meta);
    const value = this.#resolving.has(shown) ? `Object.assign(${told}, { resolve: ${resolverFrom(meta.url)} })` : told;
    return { contents: `${start}${brought.join("")}export default ${value};\n`, loader: "js" };
  }

  /** A file that a module names; `undefined` if it does not exist, or the tool may not read it. */
  async #bring(shown: string, name: string): Promise<Buffer | undefined> {
    const importer = this.#files.fileOf(shown);
    if (importer === undefined || !RELATIVE.test(name)) return undefined;
    const file = path.resolve(path.dirname(importer), name);
    if (!this.#files.mayReach(file, importer)) return undefined;
    const real = await realpath(file).catch(() => file);
    const found = await stat(real).catch(() => undefined);
    if (found?.isFile() !== true || !this.#files.mayReach(real, importer)) return undefined;
    if (!this.#files.isOwn(importer) && !isPackagesData(real, found.size, importer)) return undefined;
    this.#files.take(real, found.size);
    return readFile(real);
  }
}

/** Whether a file is data of the package that names it. A module for a worker has none here, and is more than the rest. */
function isPackagesData(file: string, bytes: number, importer: string): boolean {
  return isIn(file, packageFolder(importer)) && !CODE.test(file) && bytes <= MAX_SOURCE_BYTES;
}

const META = /\bimport\s*\.\s*meta\b/;
const RESOLVE = /\bimport\s*\.\s*meta\s*\.\s*resolve\b/;
const META_HERE = new RegExp(META, "y");
/** As long as `import.meta`. */
const SPARE_NAMES = ["import_meta", "import$meta", "$importmeta", "_importmeta", "importmeta_"];
/** Neither absolute nor with a scheme. */
const RELATIVE = /^(?![/\\]|[a-z][a-z\d+.-]*:)/i;
const CODE = /\.(?:[cm]?[jt]s|[jt]sx)$/;
/** Comments and directives before a module's first statement. */
const START = /^(?:#!.*)?(?:\s+|\/\/.*|\/\*[^]*?\*\/|(["'])use [\w ]+\1\s*;?)*/;

async function withPlace(contents: string, options: TransformOptions): Promise<string> {
  const name = SPARE_NAMES.find((one) => !contents.includes(one));
  const made = name === undefined ? contents : await withoutMeta(contents, name, options);
  return withFolder(made, made === contents ? undefined : name, options);
}

/**
 * A module with its own `__dirname` and `__filename`, if it names them and does not define them: on the line of its
 * first statement, after its directives. `meta`: its name for its `import.meta`.
 */
async function withFolder(contents: string, meta: string | undefined, options: TransformOptions): Promise<string> {
  const names = ["dirname", "filename"].filter((one) => contents.includes(`__${one}`));
  if (names.length === 0) return contents;
  const [start] = START.exec(contents) ?? [""];
  const place = meta ?? `require(${JSON.stringify(PLACE)}).default`;
  const made = `${start}var ${names.map((one) => `__${one} = ${place}.${one}`).join(", ")}; ${contents.slice(start.length)}`;
  // A name that is defined twice is an error, and no free one.
  return transform(made, options).then(
    () => made,
    () => contents,
  );
}

/** A module whose `import.meta` is replaced by a name that an appended import defines: lines and columns stay. */
async function withoutMeta(contents: string, name: string, options: TransformOptions): Promise<string> {
  if (!META.test(contents)) return contents;
  // The warnings are real uses in the module, not those in a text or a comment.
  const { warnings } = await transform(contents, {
    ...options,
    format: "esm",
    supported: { "import-meta": false },
    // In a `try` and in packages, esbuild does not warn by default.
    logOverride: { "empty-import-meta": "warning" },
    logLimit: 0,
  });
  const places = warnings.flatMap(({ id, location }) => (id === "empty-import-meta" && location ? [location] : []));
  if (places.length === 0) return contents;
  const lines = contents.split(/(?<=\r\n|[\n\u2028\u2029]|\r(?!\n))/);
  let made = "";
  let at = 0;
  let lineStart = 0;
  let line = 0;
  for (const { line: number, column } of places) {
    for (; line < number - 1; line++) lineStart += lines[line]?.length ?? 0;
    const start = lineStart + unitsOf(lines[line] ?? "", column);
    META_HERE.lastIndex = start;
    const [found] = META_HERE.exec(contents) ?? [];
    if (found === undefined) continue;
    const end = start + found.length;
    // The text between its words stays: it may have line breaks.
    made += contents.slice(at, start) + name + found.replaceAll(/\S/g, "");
    at = end;
  }
  const imported = `\nimport ${name} from ${JSON.stringify(PLACE)};`;
  return made + contents.slice(at) + imported;
}

/** esbuild counts columns in bytes of UTF-8. */
function unitsOf(line: string, bytes: number): number {
  return Buffer.from(line).toString("utf8", 0, bytes).length;
}

function metaOf(place: string): { readonly url: string; readonly dirname: string; readonly filename: string } {
  const filename = path.posix.join(FILES_FOLDER, place);
  const url = new URL("file:///");
  // Characters with a meaning in URLs.
  url.pathname = filename.replaceAll(/[%?#\\]/g, encodeURIComponent);
  return { url: url.href, dirname: path.posix.dirname(filename), filename };
}

/** Text of `import.meta.resolve` for URLs and relative names: the packages of a bundle stand at no place. */
function resolverFrom(url: string): string {
  return `(name) => {
  if (/^(?:\\.{0,2}\\/|[a-z][a-z\\d+.-]*:)/i.test(name)) return new URL(name, ${JSON.stringify(url)}).href;
  throw Object.assign(new Error(\`Cannot find package '\${name}': import.meta.resolve finds files, and packages are part of the bundle\`), { code: "ERR_MODULE_NOT_FOUND" });
}`;
}

/** Text where it is UTF-8, which is most often shorter. */
function valueOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return JSON.stringify(bytes.toString("utf8"));
  return `{ base64: ${JSON.stringify(bytes.toString("base64"))} }`;
}
