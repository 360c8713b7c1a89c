import { readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { isObject } from "../../base/json.ts";
import { RefusalError } from "./refusal.ts";
import { packageFolders, packageName } from "./specifier.ts";

/** The part of a tsconfig.json that determines the meaning of code, with that of the files that it extends. */
export interface TsConfig {
  /** Patterns with at most one `*`, and their targets. */
  readonly paths: ReadonlyMap<string, readonly string[]>;
  /** The folder to which the targets of `paths` are relative. */
  readonly pathsFrom: string;
  readonly baseUrl: string | undefined;
  /** Compiler options that change the behaviour of a module. */
  readonly options: Readonly<Record<string, unknown>>;
}

const NAMES = ["tsconfig.json", "jsconfig.json"] as const;
const MAX_BYTES = 1024 * 1024;
const MAX_PATTERNS = 10_000;
/** Files that one tsconfig.json may extend, directly and indirectly. */
const MAX_EXTENDED = 100;
const NOTHING: TsConfig = { paths: new Map(), pathsFrom: "", baseUrl: undefined, options: {} };
const JSX = ["jsxFactory", "jsxFragmentFactory", "jsxImportSource"] as const;
const OPTIONS = [
  "experimentalDecorators",
  "useDefineForClassFields",
  "verbatimModuleSyntax",
  "target",
  "jsx",
  ...JSX,
] as const;
/** Targets for which class fields are assigned, unless `useDefineForClassFields` says otherwise. */
const OLD_TARGET = /^es(?:[356]|201\d|202[01])$/i;
/** Text of the tsconfig.json for a module that has none. */
export const PLAIN = "{}";

/**
 * How the bundler reads JavaScript that was made of TypeScript by options of its own. It may still export names of types
 * from elsewhere, which is an error in JavaScript. As TypeScript it would get the class fields of the bundle's options.
 */
export function madeLoader(own: string, bundle: string): "js" | "ts" {
  const namesTypes = !own.includes("verbatimModuleSyntax") && !bundle.includes("useDefineForClassFields");
  return namesTypes ? "ts" : "js";
}

/** The tsconfig.json files of a project, read as esbuild reads them but bounded, and never above the project. */
export class TsConfigs {
  readonly #root: string;
  readonly #refusalOf: (real: string) => string | undefined;
  readonly #known = new Map<string, Promise<TsConfig | undefined>>();
  readonly #files = new Set<string>();

  /** `root`: the folder of the project. `refusalOf`: the reason why a file, without symbolic links, may not be read. */
  constructor(root: string, refusalOf: (real: string) => string | undefined) {
    this.#root = root;
    this.#refusalOf = refusalOf;
  }

  /** Paths of all files read so far. */
  get files(): ReadonlySet<string> {
    return this.#files;
  }

  /**
   * Possible targets of an import for a module in a folder, best first: absolute paths, with no more extension than is
   * written. Rejects with a `RefusalError`.
   */
  async targets(specifier: string, folder: string): Promise<readonly string[]> {
    const config = await this.#of(folder);
    if (config === undefined) return [];
    const { paths, pathsFrom, baseUrl } = config;
    const mapped = targetsIn(paths, specifier).map((target) => path.resolve(pathsFrom, target));
    return baseUrl === undefined ? mapped : [...mapped, path.join(baseUrl, specifier)];
  }

  /** The text of a tsconfig.json with the options for a module. Rejects with a `RefusalError`. */
  async optionsFor(file: string): Promise<string> {
    const options = (await this.#of(path.dirname(file)))?.options ?? {};
    const { experimentalDecorators, useDefineForClassFields, verbatimModuleSyntax, target } = options;
    const isOld = typeof target === "string" && OLD_TARGET.test(target);
    const compilerOptions = {
      ...(experimentalDecorators === true && { experimentalDecorators }),
      ...((useDefineForClassFields ?? !isOld) === false && { useDefineForClassFields: false }),
      ...(verbatimModuleSyntax === true && { verbatimModuleSyntax }),
      ...(/\.[jt]sx$/.test(file) && jsxIn(options)),
    };
    return Object.keys(compilerOptions).length === 0 ? PLAIN : JSON.stringify({ compilerOptions });
  }

  /** The config of the nearest folder that has one, up to the root. */
  #of(folder: string): Promise<TsConfig | undefined> {
    let found = this.#known.get(folder);
    if (found === undefined) this.#known.set(folder, (found = this.#nearest(folder)));
    return found;
  }

  async #nearest(folder: string): Promise<TsConfig | undefined> {
    for (const name of NAMES) {
      const file = path.join(folder, name);
      if (!(await isFile(file))) continue;
      const found = await this.#read(file, { configDir: folder, chain: [], extended: [] });
      const { paths, baseUrl } = found;
      if (baseUrl !== undefined) return { ...found, pathsFrom: baseUrl };
      // Names of packages have no meaning without a base.
      const own = [...paths].map(([key, targets]) => [key, targets.filter(namesFile)] as const);
      return { ...found, paths: new Map(own) };
    }
    return folder === this.#root ? undefined : this.#of(path.dirname(folder));
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
      const found = await this.#baseOf(base, path.dirname(real));
      // A missing file belongs to development tools.
      if (found !== undefined) config = merged(config, await this.#read(found, inner));
    }
    const options = isObject(json["compilerOptions"]) ? json["compilerOptions"] : {};
    return merged(config, ownOf(options, path.dirname(real), reading.configDir));
  }

  async #baseOf(specifier: string, folder: string): Promise<string | undefined> {
    if (!namesFile(specifier)) return this.#packageFile(specifier, folder);
    const file = path.resolve(folder, /^\.{1,2}$/.test(specifier) ? `${specifier}/tsconfig.json` : specifier);
    return firstFile(file.endsWith(".json") ? [file] : [file, `${file}.json`]);
  }

  /** A package's file, by its `exports`, its `tsconfig` field, or its own name. */
  async #packageFile(specifier: string, folder: string): Promise<string | undefined> {
    const name = packageName(specifier);
    for (const modules of packageFolders(folder)) {
      const file = path.join(modules, name, "package.json");
      const manifest = (await isFile(file))
        ? parse(await textOf(file, `${name}/package.json`), `${name}/package.json`)
        : {};
      const exported = exportedFile(manifest["exports"], `.${specifier.slice(name.length)}`);
      const field = specifier === name ? namesIn(manifest["tsconfig"]) : [];
      const within = [...(exported === undefined ? [] : [exported]), ...field].map((one) => path.join(name, one));
      const names = [...within, `${specifier}/tsconfig.json`, specifier, `${specifier}.json`];
      const found = await firstFile(names.map((one) => path.join(modules, one)));
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** What elements mean. Whoever preserves them has another compiler, which as a rule imports a runtime for them. */
function jsxIn(options: TsConfig["options"]): object {
  const texts = JSX.flatMap((name) => (typeof options[name] === "string" ? [[name, options[name]] as const] : []));
  const { jsx } = options;
  const isRuntime = typeof jsx === "string" && /^(?:react-jsx(?:dev)?|preserve)$/i.test(jsx);
  return { ...Object.fromEntries(texts), ...(isRuntime && { jsx: "react-jsx" }) };
}

/** The file of a package's `exports` at a subpath, as `require` finds it; `undefined` without one. */
function exportedFile(exports: unknown, subpath: string): string | undefined {
  const isMap = isObject(exports) && Object.keys(exports).some((key) => key.startsWith("."));
  if (!isMap) return subpath === "." ? conditional(exports) : undefined;
  if (Object.hasOwn(exports, subpath)) return conditional(exports[subpath]);
  for (const [key, value] of Object.entries(exports)) {
    const [prefix = "", suffix] = key.split("*");
    if (suffix === undefined || subpath.length < key.length || !subpath.startsWith(prefix)) continue;
    if (!subpath.endsWith(suffix)) continue;
    const matched = subpath.slice(prefix.length, subpath.length - suffix.length);
    return conditional(value)?.replaceAll("*", () => matched);
  }
  return undefined;
}

const CONDITIONS: readonly string[] = ["require", "node", "default"];

function conditional(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!isObject(value)) return undefined;
  const key = Object.keys(value).find((one) => CONDITIONS.includes(one));
  const chosen = key === undefined ? undefined : value[key];
  return typeof chosen === "string" ? chosen : undefined;
}

async function firstFile(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) if (await isFile(file)) return file;
  return undefined;
}

/** State of the reading of one tsconfig.json. */
interface Reading {
  /** Folder of the first file: the meaning of `${configDir}` in all. */
  readonly configDir: string;
  /** The files that extend this one. */
  readonly chain: readonly string[];
  readonly extended: string[];
}

/** A later config replaces each part of an earlier one. */
function merged(earlier: TsConfig, later: TsConfig): TsConfig {
  const { paths, pathsFrom } = later.pathsFrom === "" ? earlier : later;
  const options = { ...earlier.options, ...later.options };
  return { paths, pathsFrom, baseUrl: later.baseUrl ?? earlier.baseUrl, options };
}

function ownOf(options: Readonly<Record<string, unknown>>, folder: string, configDir: string): TsConfig {
  const placed = (text: string): string => text.replace(/^\$\{configDir\}/, () => configDir);
  const { baseUrl, paths } = options;
  const base = typeof baseUrl === "string" ? path.resolve(folder, placed(baseUrl)) : undefined;
  const own = Object.fromEntries(OPTIONS.flatMap((name) => (name in options ? [[name, options[name]]] : [])));
  const rest = { baseUrl: base, options: own };
  if (!isObject(paths)) return { ...NOTHING, ...rest };
  const entries = Object.entries(paths).slice(0, MAX_PATTERNS);
  const mapped = entries.map(([key, targets]) => [key, namesIn(targets).map(placed).filter(isPattern)] as const);
  return { paths: new Map(mapped.filter(([key]) => isPattern(key))), pathsFrom: folder, ...rest };
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

/** A string or a comment. An unclosed one ends with its line or the text, so that each place is read once. */
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
