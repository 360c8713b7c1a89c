import { readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";

const MAX_MANIFEST_BYTES = 1024 * 1024;
/** What may stand between the name of a module and that of its file. */
const ENDINGS: readonly string[] = ["", ".js", ".mjs", ".cjs", ".ts", ".json", "/index.js", "/index.ts"];

/** What a `package.json` says of the files beside and below it. */
interface Manifest {
  /** Whether a `.js` file is a module in Node's sense, so that what it imports from CommonJS is all of it. */
  readonly isModule: boolean;
  /** The files that its `browser` field replaces by nothing. */
  readonly leftOut: readonly string[];
}

const NOTHING: Manifest = { isModule: false, leftOut: [] };

/** The `package.json` files of one tool: esbuild reads them as well, but does not tell plugins all that they say. */
export class Manifests {
  readonly #mayRead: (file: string) => boolean;
  readonly #read = new Map<string, Promise<Manifest | undefined>>();

  constructor(mayRead: (file: string) => boolean) {
    this.#mayRead = mayRead;
  }

  /** Whether a package replaces this file by nothing where there is no Node. It need not exist. */
  async isLeftOut(file: string): Promise<boolean> {
    const { leftOut } = await this.#nearest(path.dirname(file));
    return leftOut.some((left) => ENDINGS.some((ending) => left === file + ending || file === left + ending));
  }

  /** Whether a file is a module by its package's word: names that end in `.mjs` and `.mts` say so themselves. */
  async isModule(file: string): Promise<boolean> {
    return /\.[jt]s$/.test(file) && (await this.#nearest(path.dirname(file))).isModule;
  }

  async #nearest(start: string): Promise<Manifest> {
    for (let folder = start; ; folder = path.dirname(folder)) {
      const file = path.join(folder, "package.json");
      if (!this.#mayRead(file)) return NOTHING;
      let manifest = this.#read.get(file);
      if (manifest === undefined) this.#read.set(file, (manifest = this.#readOne(file)));
      const found = await manifest;
      if (found !== undefined) return found;
    }
  }

  async #readOne(file: string): Promise<Manifest | undefined> {
    try {
      const real = await realpath(file);
      if (!this.#mayRead(real)) return undefined;
      const { size, isFile } = await stat(real).then((found) => ({ size: found.size, isFile: found.isFile() }));
      if (!isFile || size > MAX_MANIFEST_BYTES) return undefined;
      return manifestOf(JSON.parse(await readFile(real, "utf8")), path.dirname(file));
    } catch {
      // It is not there, or no JSON: then it says nothing, and the next one above counts.
      return undefined;
    }
  }
}

function manifestOf(json: unknown, folder: string): Manifest {
  if (typeof json !== "object" || json === null) return NOTHING;
  const { browser, type } = json as { browser?: unknown; type?: unknown };
  const replaced = typeof browser === "object" && browser !== null ? Object.entries(browser) : [];
  const leftOut = replaced.flatMap(([name, by]) =>
    by === false && name.startsWith(".") ? [path.resolve(folder, name)] : [],
  );
  return { isModule: type === "module", leftOut };
}
