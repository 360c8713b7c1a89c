import { isUtf8 } from "node:buffer";
import { readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { type Loader, type OnLoadResult, transform } from "esbuild";
import { FILES_FOLDER, FILES_KEY } from "../../guest/host.ts";
import { TARGET } from "./imports.ts";

/**
 * `import.meta` of the modules in a bundle, and the files that they name by it. All modules stand under one folder that
 * does not exist, so no path of the host gets into a bundle.
 */

/** The name that modules import their `import.meta` by. Which module asks says which it is. */
export const PLACE = "glovebox:place";

/** The bundle's files, as the places of modules need them. */
export interface PlacedFiles {
  /** The path of a module by its displayed name. */
  fileOf(shown: string): string | undefined;
  /** Where a module stands under the folder of all. */
  placeOf(shown: string): string;
  /** Whether a module may name a file. */
  mayReach(file: string, importer: string): boolean;
  /** Whether a file is the tool's own, and no package's. */
  isOwn(file: string): boolean;
  /** Counts a file that is brought. Throws where it is too large. */
  take(file: string, bytes: number): void;
}

/** Gives the modules of one bundle their places. */
export class ModulePlaces {
  readonly #files: PlacedFiles;
  /** The files that a module names, by its displayed name. */
  readonly #named = new Map<string, readonly string[]>();

  constructor(files: PlacedFiles) {
    this.#files = files;
  }

  /** The text of a module without its `import.meta`. One that cannot be parsed stays as it is. */
  async place(contents: string, loader: Loader, shown: string, tsconfigRaw = "{}"): Promise<string> {
    if (!META.test(contents)) return contents;
    const made = await placed(contents, loader, shown, tsconfigRaw).catch(() => undefined);
    if (made === undefined) return contents;
    this.#named.set(shown, made.named);
    return made.contents;
  }

  /** The module that a module's `import.meta` is imported from. It first leaves the files that the module names. */
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
    return { contents: `${start}${brought.join("")}export default ${JSON.stringify(metaOf(place))};\n`, loader: "js" };
  }

  /** A file that a module names; `undefined` if it is not there, or not the tool's to read. */
  async #bring(shown: string, name: string): Promise<Buffer | undefined> {
    const importer = this.#files.fileOf(shown);
    if (importer === undefined || !RELATIVE.test(name)) return undefined;
    const file = path.resolve(path.dirname(importer), name);
    if (!this.#files.mayReach(file, importer)) return undefined;
    const real = await realpath(file).catch(() => file);
    const found = await stat(real).catch(() => undefined);
    if (found?.isFile() !== true || !this.#files.mayReach(real, importer)) return undefined;
    // A package's module for a worker would be more than the rest of the bundle, and there are no workers.
    if (CODE.test(real) && !this.#files.isOwn(importer)) return undefined;
    this.#files.take(real, found.size);
    return readFile(real);
  }
}

/** A module whose `import.meta` is replaced by a name that an appended import defines: lines and columns stay. */
interface PlacedModule {
  readonly contents: string;
  /** Relative URLs and paths of files that the module names by a literal, from its own folder. */
  readonly named: readonly string[];
}

const META = /\bimport\s*\.\s*meta\b/;
const META_HERE = new RegExp(META, "y");
/** As long as `import.meta`. */
const SPARE_NAMES = ["import_meta", "import$meta", "$importmeta", "_importmeta", "importmeta_"];
/** `new URL("./name", ` before an `import.meta.url`. */
const URL_BEFORE = /\bnew\s+URL\s*\(\s*(["'`])([^"'`\\$\n]{1,500})\1\s*,\s*$/;
/** `join(` before an `import.meta.dirname`, and the rest of the call behind it. */
const JOIN_BEFORE = /\b(?:join|resolve)\s*\(\s*$/;
const NAMES_BEHIND = /^\s*\.\s*dirname\s*((?:,\s*(?:"[^"\\\n]{1,500}"|'[^'\\\n]{1,500}')\s*){1,9}),?\s*\)/;
/** Neither absolute nor with a scheme. */
const RELATIVE = /^(?![/\\]|[a-z][a-z\d+.-]*:)/i;
const CODE = /\.[cm]?[jt]s$/;
/** Characters around an `import.meta` that are looked at. */
const AROUND = 1_000;

/** Replaces a module's `import.meta`. Rejects as esbuild does. */
async function placed(
  contents: string,
  loader: Loader,
  sourcefile: string,
  tsconfigRaw: string,
): Promise<PlacedModule> {
  const name = SPARE_NAMES.find((one) => !contents.includes(one));
  if (name === undefined) return { contents, named: [] };
  // The warnings are the places where the module really means it, and not a text or a comment.
  const { warnings } = await transform(contents, {
    loader,
    sourcefile,
    format: "esm",
    target: TARGET,
    supported: { "import-meta": false },
    charset: "utf8",
    tsconfigRaw,
    logLevel: "silent",
    // In a `try` and in packages, esbuild does not warn by itself.
    logOverride: { "empty-import-meta": "warning" },
    logLimit: 0,
  });
  const places = warnings.flatMap(({ id, location }) => (id === "empty-import-meta" && location ? [location] : []));
  if (places.length === 0) return { contents, named: [] };
  const lines = contents.split(/(?<=\r\n|[\n\u2028\u2029]|\r(?!\n))/);
  const named = new Set<string>();
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
    for (const one of namedAt(contents.slice(Math.max(0, start - AROUND), start), contents.slice(end, end + AROUND)))
      named.add(one);
    // The text between its words stays: it may have line breaks.
    made += contents.slice(at, start) + name + found.replaceAll(/\S/g, "");
    at = end;
  }
  const imported = `\nimport ${name} from ${JSON.stringify(PLACE)};`;
  return { contents: made + contents.slice(at) + imported, named: [...named] };
}

/** esbuild counts columns in bytes of UTF-8. */
function unitsOf(line: string, bytes: number): number {
  return Buffer.from(line).toString("utf8", 0, bytes).length;
}

function namedAt(before: string, behind: string): readonly string[] {
  const url = /^\s*\.\s*url\b/.test(behind) ? URL_BEFORE.exec(before)?.[2] : undefined;
  if (url !== undefined) return [decoded(url)];
  const names = JOIN_BEFORE.test(before) ? NAMES_BEHIND.exec(behind)?.[1] : undefined;
  if (names === undefined) return [];
  return [path.posix.join(...Array.from(names.matchAll(/["']([^"']*)["']/g), ([, one = ""]) => one))];
}

/** The path that a relative URL names; one with a scheme is left as it is, and names no file. */
function decoded(url: string): string {
  try {
    return decodeURIComponent(url.replace(/[?#].*$/s, ""));
  } catch {
    return url;
  }
}

function metaOf(place: string): object {
  const filename = path.posix.join(FILES_FOLDER, place);
  const url = new URL("file:///");
  // Characters with a meaning in URLs.
  url.pathname = filename.replaceAll(/[%?#\\]/g, encodeURIComponent);
  return { url: url.href, dirname: path.posix.dirname(filename), filename };
}

/** Text where it is UTF-8, which is most often shorter. */
function valueOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return JSON.stringify(bytes.toString("utf8"));
  return `{ base64: ${JSON.stringify(bytes.toString("base64"))} }`;
}
