import { readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";

const MAX_MANIFEST_BYTES = 1024 * 1024;
/** What may stand between the name of a module and that of its file. */
const ENDINGS: readonly string[] = ["", ".js", ".mjs", ".cjs", ".ts", ".json", "/index.js", "/index.ts"];

/** What the `package.json` files above a file say of it. */
export interface Manifest {
  /** Whether a `.js` file is a module in Node's sense, so that what it imports from CommonJS is all of it. */
  readonly isModule: boolean;
  /** Whether a module counts also where nothing of it is used; `undefined` where a list of patterns says it. */
  readonly sideEffects: boolean | undefined;
  /** The files that the `browser` field replaces by nothing; `undefined` where there is no such field. */
  readonly leftOut: readonly string[] | undefined;
}

const NOTHING: Manifest = { isModule: false, sideEffects: true, leftOut: undefined };

/** The `package.json` files of one tool: esbuild reads them as well, but does not tell plugins all that they say. */
export class Manifests {
  readonly #mayRead: (file: string) => boolean;
  readonly #read = new Map<string, Promise<Manifest>>();

  constructor(mayRead: (file: string) => boolean) {
    this.#mayRead = mayRead;
  }

  of(file: string): Promise<Manifest> {
    return this.#in(path.dirname(file));
  }

  #in(folder: string): Promise<Manifest> {
    const file = path.join(folder, "package.json");
    if (!this.#mayRead(file)) return Promise.resolve(NOTHING);
    let found = this.#read.get(folder);
    if (found === undefined) this.#read.set(folder, (found = this.#readOne(file, folder)));
    return found;
  }

  /** What is nearest counts, each part of the `browser` field excepted: that holds until another one is found. */
  async #readOne(file: string, folder: string): Promise<Manifest> {
    const above = this.#in(path.dirname(folder));
    const own = await this.#parse(file).then(
      (json) => manifestOf(json, folder),
      // It is not there, or no JSON: then it says nothing.
      () => undefined,
    );
    if (own === undefined) return above;
    return own.leftOut === undefined ? { ...own, leftOut: (await above).leftOut } : own;
  }

  async #parse(file: string): Promise<unknown> {
    const real = await realpath(file);
    const found = await stat(real);
    const isOurs = this.#mayRead(real) && found.isFile() && found.size <= MAX_MANIFEST_BYTES;
    return isOurs ? JSON.parse(await readFile(real, "utf8")) : undefined;
  }
}

/** Whether a package replaces this file by nothing where there is no Node. It need not exist. */
export function isLeftOut(file: string, { leftOut = [] }: Manifest): boolean {
  return leftOut.some((left) => ENDINGS.some((ending) => left === file + ending || file === left + ending));
}

function manifestOf(json: unknown, folder: string): Manifest | undefined {
  if (typeof json !== "object" || json === null) return undefined;
  const { browser, type, sideEffects } = json as { browser?: unknown; type?: unknown; sideEffects?: unknown };
  return {
    isModule: type === "module",
    sideEffects: typeof sideEffects === "boolean" ? sideEffects : sideEffects === undefined ? true : undefined,
    leftOut: typeof browser === "object" && browser !== null ? filesWithout(browser, folder) : undefined,
  };
}

function filesWithout(browser: object, folder: string): readonly string[] {
  const names = Object.entries(browser).filter(([name, by]) => by === false && name.startsWith("."));
  return names.map(([name]) => path.resolve(folder, name));
}
