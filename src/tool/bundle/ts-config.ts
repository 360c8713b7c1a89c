import { readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { isObject } from "../../base/json.ts";
import { RefusalError } from "./refusal.ts";
import { packageFolders } from "./specifier.ts";

/** The part of a tsconfig.json that decides what an import means, with that of the files that it extends. */
export interface TsConfig {
  /** Patterns with at most one `*`, and where they lead. */
  readonly paths: ReadonlyMap<string, readonly string[]>;
  /** The folder to which the targets of `paths` are relative. */
  readonly pathsFrom: string;
  readonly baseUrl: string | undefined;
}

/** Resolves a package's file as `require` does: its path, or an empty text. */
type ResolvePackage = (specifier: string, folder: string) => Promise<string>;

const NAMES = ["tsconfig.json", "jsconfig.json"] as const;
const MAX_BYTES = 1024 * 1024;
const MAX_PATTERNS = 10_000;
/** Files that one tsconfig.json may extend, directly and indirectly. */
const MAX_EXTENDED = 100;
const NOTHING: TsConfig = { paths: new Map(), pathsFrom: "", baseUrl: undefined };

/** The tsconfig.json files of a project, read as esbuild reads them but bounded, and never above the project. */
export class TsConfigs {
  readonly #root: string;
  readonly #refusalOf: (real: string) => string | undefined;
  readonly #known = new Map<string, Promise<TsConfig | undefined>>();
  readonly #files = new Set<string>();

  /** `root`: the folder of the project. `refusalOf`: why a file, without symbolic links, may not be read. */
  constructor(root: string, refusalOf: (real: string) => string | undefined) {
    this.#root = root;
    this.#refusalOf = refusalOf;
  }

  /** Paths of all files read so far. */
  get files(): ReadonlySet<string> {
    return this.#files;
  }

  /**
   * Where an import of this name may lead for a module in a folder, best first: absolute paths, without extensions as
   * they are written. Rejects with a `RefusalError`.
   */
  async targets(specifier: string, folder: string, resolve: ResolvePackage): Promise<readonly string[]> {
    const config = await this.#of(folder, resolve);
    if (config === undefined) return [];
    const { paths, pathsFrom, baseUrl } = config;
    const mapped = targetsIn(paths, specifier).map((target) => path.resolve(pathsFrom, target));
    return baseUrl === undefined ? mapped : [...mapped, path.join(baseUrl, specifier)];
  }

  /** The config of the nearest folder that has one, up to the root. */
  #of(folder: string, resolve: ResolvePackage): Promise<TsConfig | undefined> {
    let found = this.#known.get(folder);
    if (found === undefined) this.#known.set(folder, (found = this.#nearest(folder, resolve)));
    return found;
  }

  async #nearest(folder: string, resolve: ResolvePackage): Promise<TsConfig | undefined> {
    for (const name of NAMES) {
      const file = path.join(folder, name);
      if (!(await isFile(file))) continue;
      const { paths, pathsFrom, baseUrl } = await this.#read(file, {
        configDir: folder,
        resolve,
        chain: [],
        extended: [],
      });
      if (baseUrl !== undefined) return { paths, pathsFrom: baseUrl, baseUrl };
      // Names of packages mean nothing without a base.
      const own = [...paths].map(([key, targets]) => [key, targets.filter(namesFile)] as const);
      return { paths: new Map(own), pathsFrom, baseUrl };
    }
    return folder === this.#root ? undefined : this.#of(path.dirname(folder), resolve);
  }

  async #read(file: string, reading: Reading): Promise<TsConfig> {
    const real = await realpath(file);
    const shown = path.relative(this.#root, file).split(path.sep).join("/");
    const name = shown.startsWith("..") ? path.basename(file) : shown;
    const why = this.#refusalOf(real);
    if (why !== undefined) throw new RefusalError(`uses ${name}, which ${why}`);
    // As in esbuild, a file that extends itself adds nothing.
    if (reading.chain.includes(real)) return NOTHING;
    reading.extended.push(real);
    if (reading.extended.length > MAX_EXTENDED)
      throw new RefusalError(
        `uses ${name}, one of more than ${MAX_EXTENDED} files that a tsconfig.json extends; extend fewer`,
      );
    this.#files.add(real);
    const json = parse(await textOf(real, name), name);
    const inner = { ...reading, chain: [...reading.chain, real] };
    let config = NOTHING;
    for (const base of namesIn(json["extends"])) {
      const found = await this.#baseOf(base, path.dirname(real), reading.resolve);
      // One that is missing is for tools of development.
      if (found !== undefined) config = merged(config, await this.#read(found, inner));
    }
    const options = isObject(json["compilerOptions"]) ? json["compilerOptions"] : {};
    return merged(config, ownOf(options, path.dirname(real), reading.configDir));
  }

  async #baseOf(specifier: string, folder: string, resolve: ResolvePackage): Promise<string | undefined> {
    if (!namesFile(specifier)) return this.#packageFile(specifier, folder, resolve);
    const file = path.resolve(folder, /^\.{1,2}$/.test(specifier) ? `${specifier}/tsconfig.json` : specifier);
    if (await isFile(file)) return file;
    return !file.endsWith(".json") && (await isFile(`${file}.json`)) ? `${file}.json` : undefined;
  }

  /** A package's file: by its `exports` or its own name, else its `tsconfig` field or its tsconfig.json. */
  async #packageFile(specifier: string, folder: string, resolve: ResolvePackage): Promise<string | undefined> {
    const found = await resolve(specifier, folder);
    if (found.endsWith(".json")) return found;
    for (const modules of packageFolders(folder)) {
      const manifest = path.join(modules, specifier, "package.json");
      const field = (await isFile(manifest))
        ? parse(await textOf(manifest, specifier), specifier)["tsconfig"]
        : undefined;
      const names = [...namesIn(field), "tsconfig.json"].map((one) => path.join(modules, specifier, one));
      for (const file of names) if (await isFile(file)) return file;
    }
    return undefined;
  }
}

/** State of the reading of one tsconfig.json. */
interface Reading {
  /** Where the first file is: the meaning of `${configDir}` in all. */
  readonly configDir: string;
  readonly resolve: ResolvePackage;
  /** The files that extend this one. */
  readonly chain: readonly string[];
  readonly extended: string[];
}

/** A later config replaces each part of an earlier one. */
function merged(earlier: TsConfig, later: TsConfig): TsConfig {
  const { paths, pathsFrom } = later.pathsFrom === "" ? earlier : later;
  return { paths, pathsFrom, baseUrl: later.baseUrl ?? earlier.baseUrl };
}

function ownOf(options: Readonly<Record<string, unknown>>, folder: string, configDir: string): TsConfig {
  const placed = (text: string): string => text.replace(/^\$\{configDir\}/, () => configDir);
  const { baseUrl, paths } = options;
  const base = typeof baseUrl === "string" ? path.resolve(folder, placed(baseUrl)) : undefined;
  if (!isObject(paths)) return { ...NOTHING, baseUrl: base };
  const entries = Object.entries(paths).slice(0, MAX_PATTERNS);
  const own = entries.map(([key, targets]) => [key, namesIn(targets).map(placed).filter(isPattern)] as const);
  return { paths: new Map(own.filter(([key]) => isPattern(key))), pathsFrom: folder, baseUrl: base };
}

/** The targets of the best pattern for an import: the exact one, else that with the longest text before its `*`. */
function targetsIn(paths: TsConfig["paths"], specifier: string): readonly string[] {
  const isCode = (target: string): boolean => !/\.d\.ts$/i.test(target);
  const exact = paths.get(specifier);
  if (exact !== undefined) return exact.filter(isCode);
  let best: { readonly prefix: string; readonly suffix: string; readonly targets: readonly string[] } | undefined;
  for (const [key, targets] of paths) {
    const [prefix = "", suffix] = key.split("*");
    if (suffix === undefined || specifier.length < prefix.length + suffix.length) continue;
    if (!specifier.startsWith(prefix) || !specifier.endsWith(suffix)) continue;
    const longer = prefix.length - (best?.prefix.length ?? -1);
    if (longer > 0 || (longer === 0 && suffix.length > (best?.suffix.length ?? 0))) best = { prefix, suffix, targets };
  }
  if (best === undefined) return [];
  const matched = specifier.slice(best.prefix.length, specifier.length - best.suffix.length);
  return best.targets.map((target) => target.replace("*", () => matched)).filter(isCode);
}

function isPattern(text: string): boolean {
  return text.split("*").length <= 2;
}

function namesFile(text: string): boolean {
  return /^\.{0,2}(?:[/\\]|$)/.test(text) || path.isAbsolute(text);
}

function namesIn(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((one) => typeof one === "string");
}

async function isFile(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined))?.isFile() === true;
}

async function textOf(file: string, name: string): Promise<string> {
  const { size } = await stat(file);
  if (size <= MAX_BYTES) return readFile(file, "utf8");
  throw new RefusalError(`uses ${name}, which is larger than ${MAX_BYTES} bytes; make it smaller`);
}

/** A string or a comment. What is not closed ends with its line or the text, so that each place is read once. */
const COMMENT = /"(?:[^"\\\n]|\\.)*"?|\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/g;
/** A string or a comma before a closing bracket. */
const LAST_COMMA = /"(?:[^"\\\n]|\\.)*"?|,(?=\s*[}\]])/g;

/** JSON with comments and commas at the ends of lists. */
function parse(text: string, name: string): Readonly<Record<string, unknown>> {
  const withoutPart = (part: string): string => (part.startsWith('"') ? part : " ");
  const json = text
    .replace(/^\ufeff/, "")
    .replaceAll(COMMENT, withoutPart)
    .replaceAll(LAST_COMMA, withoutPart);
  try {
    const value: unknown = JSON.parse(json);
    if (isObject(value)) return value;
  } catch {
    // Its message would show the text.
  }
  throw new RefusalError(`uses ${name}, which is not JSON with comments; correct it`);
}
