import { lstat, readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { checkImports, withoutFileMaps } from "./imports.ts";
import { callHalf, TOOL_ENTRY, withPureSchemas } from "./halves.ts";
import { isLeftOut, Manifests } from "./manifest.ts";
import { isInLibrary, isNodeBuiltin, loadNodeModules, nodeModule } from "./node-names.ts";
import { isPackages, missingModule, packageFolder, resolvedByNode, runnable, isForBrowsers } from "./missing.ts";
import { isSchemaLibrary } from "./purity.ts";
import { asScript, type Half, toolEntryText } from "./tool-entry.ts";
import type {
  Loader,
  Message,
  OnLoadArgs,
  OnLoadResult,
  OnResolveArgs,
  OnResolveResult,
  Plugin,
  PluginBuild,
} from "esbuild";

/** Maximum size of a module that a tool may import, in bytes. */
export const MAX_SOURCE_BYTES = 4 * 1024 * 1024;
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;

/**
 * All modules live in a namespace of our own under their displayed names. So esbuild has no path from which it could
 * read a file by itself (as it does for source map comments and for patterns in `import()`), and no path of the host
 * can get into a bundle, a source map or a message.
 */
const NAMESPACE = "tool";
/** Modules that a package's `browser` field replaces by an empty one. */
const EMPTY_NAMESPACE = "empty";
/** The module that defines tools: the bundler's own. */
const ENTRY_NAMESPACE = "glovebox";
/** The `detail` of messages from esbuild that a plugin passes on. */
export const BUNDLER = "esbuild";
const PREFIX = /^(?:tool|empty):/;
const MODULES = "node_modules";
/** Suffix for modules whose `package.json` has `"type": "module"`: esbuild sees only their name. */
const MODULE_MARK = "?.mjs";

const LOADERS: { readonly [extension: string]: Loader } = {
  ".js": "js",
  ".mjs": "js",
  ".cjs": "js",
  ".ts": "ts",
  ".mts": "ts",
  ".cts": "ts",
  ".json": "json",
  ".txt": "text",
};

/** The displayed name of a module. */
export function shownName(name: string): string {
  const shown = name.replace(PREFIX, "");
  return shown.endsWith(MODULE_MARK) ? shown.slice(0, -MODULE_MARK.length) : shown;
}

/** esbuild's loader for a file name; `undefined` if the file is not a module. */
export function loaderOf(file: string): Loader | undefined {
  return LOADERS[path.extname(file)];
}

/** The npm packages that a tool may import, instead of those in the folders above its own. */
export interface PackageScope {
  readonly names: ReadonlySet<string>;
  /** The folder whose `node_modules` holds them; `undefined` for an empty scope. */
  readonly modules: string | undefined;
}

/**
 * The files that one tool may read: those in its own folder, and packages in the `node_modules` folders above it or in
 * its scope. Bundling runs with the host's rights, and a tool's imports are hostile input.
 */
export class ToolFiles {
  /** The tool's folder without symbolic links; `undefined` for a tool that is only a text. */
  readonly #root: string | undefined;
  readonly #packages: readonly string[];
  readonly #scope: PackageScope | undefined;
  /** Displayed names to paths. */
  readonly #paths = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly #answers = new Map<string, Promise<OnResolveResult | null>>();
  readonly #manifests = new Manifests((file) => this.#mayReach(file));
  /** Packages that are taken in their form for Node. */
  readonly #asNode = new Set<string>();
  #bytes = 0;
  /** Whether a module defines a tool. */
  #definesTool = false;
  /** Why the last bundle is not the half of a tool that calls need, if it is not. */
  #wholeBecause: string | undefined;

  /** `root` and the folder of the scope's `node_modules` must be real paths. */
  constructor(root: string | undefined, scope?: PackageScope) {
    this.#root = root;
    this.#scope = scope;
    if (scope !== undefined) this.#packages = scope.modules === undefined ? [] : [path.join(scope.modules, MODULES)];
    else this.#packages = root === undefined ? [] : packageFolders(root);
  }

  /** The displayed name of a file; `undefined` if the tool may not read it. */
  nameOf(file: string): string | undefined {
    const known = this.#names.get(file);
    if (known !== undefined) return known;
    const folder = [...this.#packages, ...(this.#root === undefined ? [] : [this.#root])].find((one) =>
      isIn(file, one),
    );
    if (folder === undefined) return undefined;
    const inside = path.relative(folder, file).split(path.sep).join("/");
    let name = folder === this.#root ? inside : `node_modules/${inside}`;
    for (let copy = 2; this.#paths.has(name); copy++) name = `${name.replace(/#\d+$/, "")}#${copy}`;
    this.#names.set(file, name);
    this.#paths.set(name, file);
    return name;
  }

  /** The displayed names of all files found so far. */
  shownNames(): ReadonlySet<string> {
    return new Set(this.#paths.keys());
  }

  /** Whether a module of the last bundle imports what defines tools. */
  get definesTool(): boolean {
    return this.#definesTool;
  }

  /** Why the last bundle is not the half of a tool that calls need; `undefined` if it is. */
  get wholeBecause(): string | undefined {
    return this.#wholeBecause;
  }

  /** The esbuild plugin for these files. `entry` is the name of the tool's own file, if it has one. */
  plugin(entry: string | undefined, half: Half): Plugin {
    return {
      name: "tool-files",
      setup: (build) => {
        // The same files may be bundled more than once.
        this.#bytes = 0;
        this.#answers.clear();
        this.#wholeBecause = undefined;
        build.onResolve({ filter: /.*/ }, async (args) => {
          try {
            return this.#forHalf(await this.#resolve(build, args, entry), args, entry, half);
          } catch (error) {
            return unreadable(error, args.path);
          }
        });
        build.onLoad({ filter: /.*/, namespace: NAMESPACE }, (args) =>
          this.#load(args, entry, half).catch((error: unknown) => unreadable(error, shownName(args.path))),
        );
        build.onLoad({ filter: /.*/, namespace: ENTRY_NAMESPACE }, () => toolEntryText(half));
        build.onLoad({ filter: /.*/, namespace: EMPTY_NAMESPACE }, () => ({ contents: "" }));
        loadNodeModules(build);
        build.onLoad({ filter: /.*/, namespace: "file" }, () => refusal("this file is not the tool's to read"));
      },
    };
  }

  /** `null` makes esbuild report "Could not resolve", or nothing if the import is inside a `try`. */
  async #resolve(build: PluginBuild, args: OnResolveArgs, entry: string | undefined): Promise<OnResolveResult | null> {
    if (args.pluginData === this) return null;
    if (args.kind === "entry-point") return entry === undefined ? null : { path: entry, namespace: NAMESPACE };
    if (args.path === TOOL_ENTRY) {
      this.#definesTool = true;
      return { path: "tool", namespace: ENTRY_NAMESPACE };
    }
    const specifier = args.path;
    if (specifier.startsWith("data:")) return null;
    const importer = this.#paths.get(shownName(args.importer));
    if (isNodeBuiltin(specifier) && !(await this.#isReplaced(specifier, importer))) {
      return nodeModule(specifier, args.kind);
    }
    if (specifier.startsWith("node:")) return null;
    if (/^[a-z][a-z\d+.-]*:/i.test(specifier))
      return refusal(`imports ${quoted(specifier)}; a tool may not import URLs`);
    const isScoped = this.#scope !== undefined && this.#isOwn(importer);
    const folder = this.#folderFor(specifier, importer, isScoped);
    if (typeof folder === "object") return folder;
    if (folder === undefined) return noFolder(specifier);
    const isPath = namesPath(specifier);
    if (!isPath && /[/\\]\.\.(?:[/\\]|$)/.test(specifier)) return outside(specifier);
    // Without this, a tool with a list of packages could reach others by path or through a manifest of its own.
    const isKept = isScoped && (isPath || this.#scope?.names.has(packageName(specifier)) !== true);
    // Checked before any disk access: a result that depends on the disk would reveal which files of the host exist.
    if (isPath && !this.#mayReach(path.resolve(folder, specifier), isKept)) return outside(specifier);
    // A package's modules import each other repeatedly, and each resolution is a round trip to the bundler's process.
    const question = JSON.stringify([folder, specifier, args.kind, args.with, isKept]);
    let answer = this.#answers.get(question);
    if (answer === undefined)
      this.#answers.set(question, (answer = this.#find(build, specifier, folder, args, isKept)));
    return answer;
  }

  /** Whether the `browser` field of the importing package puts something else in the place of a module of Node. */
  async #isReplaced(specifier: string, importer: string | undefined): Promise<boolean> {
    if (importer === undefined) return false;
    const replaced = (await this.#manifests.of(importer)).replaced.get(specifier);
    // Nothing in its place would be less than the library has.
    return typeof replaced === "string" || (replaced === false && !isInLibrary(specifier));
  }

  /** In the half for calls, a schema library is left out where nothing uses it, whatever its modules do. */
  #forHalf(
    found: OnResolveResult | null,
    { kind, path: specifier }: OnResolveArgs,
    entry: string | undefined,
    half: Half,
  ): OnResolveResult | null {
    if (half !== "call" || found?.path === undefined) return found;
    if (kind !== "entry-point" && found.namespace === NAMESPACE && shownName(found.path) === entry) {
      this.#wholeBecause = "a module imports it, which may use its tool";
    }
    return isSchemaLibrary(specifier) ? { ...found, sideEffects: false } : found;
  }

  /** Whether a module belongs to the tool rather than to a package that it imports. */
  #isOwn(importer: string | undefined): boolean {
    return importer === undefined || (this.#root !== undefined && isIn(importer, this.#root));
  }

  /** The folder from which to resolve a module's import, or the refusal of an import that is never allowed. */
  #folderFor(specifier: string, importer: string | undefined, isScoped: boolean): string | undefined | OnResolveResult {
    const folder = importer === undefined ? this.#root : path.dirname(importer);
    if (this.#scope === undefined || !isScoped || namesPath(specifier)) return folder;
    if (this.#scope.names.has(packageName(specifier))) return this.#scope.modules;
    return refusal(`imports ${quoted(specifier)}, which the package does not list; add it to code/requirements.txt`);
  }

  /** `isKept`: the result must be one of the tool's own files. */
  async #find(
    build: PluginBuild,
    specifier: string,
    folder: string,
    args: OnResolveArgs,
    isKept: boolean,
  ): Promise<OnResolveResult | null> {
    const plain = await this.#findPlain(specifier, folder);
    if (plain !== undefined) return plain;
    const other = this.#asNode.has(packageFolder(folder)) ? await this.#inNode(specifier, folder, isKept) : undefined;
    if (other !== undefined) return other;
    const options = { resolveDir: folder, kind: args.kind, with: args.with, pluginData: this };
    const found = await build.resolve(specifier, options);
    if (found.errors.length > 0 || found.path === "") return this.#findAsNode(specifier, folder, args, isKept);
    if (found.namespace !== "file" || isLeftOut(found.path, await this.#manifests.of(found.path)))
      return { path: specifier, namespace: EMPTY_NAMESPACE };
    const real = await realpath(found.path);
    if (
      !namesPath(specifier) &&
      this.#mayReach(real, isKept) &&
      (await isForBrowsers(real, await this.#manifests.of(real)))
    ) {
      this.#asNode.add(packageFolder(real));
      return (await this.#inNode(specifier, folder, isKept)) ?? null;
    }
    const module = this.#mayReach(real, isKept) ? await this.#moduleAt(real) : undefined;
    return module === undefined ? outside(specifier) : { ...module, sideEffects: found.sideEffects };
  }

  /** Resolves a package that may have no form but Node's. One that nobody installed fails when it is evaluated. */
  async #findAsNode(
    specifier: string,
    folder: string,
    { importer, kind }: OnResolveArgs,
    isKept: boolean,
  ): Promise<OnResolveResult | null> {
    const module = namesPath(specifier) ? undefined : await this.#inNode(specifier, folder, isKept);
    if (module !== undefined) return module;
    const isLate = kind === "require-call" || kind === "dynamic-import";
    return isLate && isPackages(shownName(importer)) ? missingModule(specifier) : null;
  }

  async #inNode(specifier: string, folder: string, isKept: boolean): Promise<OnResolveResult | undefined> {
    const file = resolvedByNode(specifier, folder);
    const real = file === undefined ? undefined : await realpath(file).catch(() => undefined);
    if (real === undefined || !this.#mayReach(real, isKept) || loaderOf(real) === undefined) return undefined;
    return this.#moduleAt(real);
  }

  /**
   * Resolves a plain relative path. The bundler would find the same file, but lists the folder again for each
   * resolution: ten times as long in packages of a thousand files.
   */
  async #findPlain(specifier: string, folder: string): Promise<OnResolveResult | undefined> {
    if (!/^\.{1,2}\/.*\.[cm]?[jt]s$/.test(specifier)) return undefined;
    const file = path.resolve(folder, specifier);
    const { sideEffects, leftOut } = await this.#manifests.of(file);
    if (leftOut !== undefined || sideEffects === undefined) return undefined;
    const found = await lstat(file).catch(() => undefined);
    if (found?.isFile() !== true || (await realpath(file)) !== file) return undefined;
    const module = await this.#moduleAt(file);
    return module === undefined ? undefined : { ...module, sideEffects };
  }

  async #moduleAt(real: string): Promise<OnResolveResult | undefined> {
    const name = this.nameOf(real);
    if (name === undefined) return undefined;
    // The extensions `.mjs` and `.mts` mark modules by themselves.
    const isModule = /\.[jt]s$/.test(real) && (await this.#manifests.of(real)).isModule;
    return { path: isModule ? name + MODULE_MARK : name, namespace: NAMESPACE };
  }

  #mayReach(file: string, isKept = false): boolean {
    const packages = isKept ? [] : this.#packages;
    return [...packages, this.#root].some((folder) => folder !== undefined && isIn(file, folder));
  }

  async #load(args: OnLoadArgs, entry: string | undefined, half: Half): Promise<OnLoadResult> {
    const shown = shownName(args.path);
    const file = this.#paths.get(shown);
    if (file === undefined) return refusal("this file is not the tool's to read");
    const asked = args.with["type"];
    const loader = asked === "text" || asked === "json" ? asked : loaderOf(file);
    if (loader === undefined || (asked !== undefined && asked !== "text" && asked !== "json")) {
      return refusal(`${shown} is no module; import ${Object.keys(LOADERS).join(", ")} or add with { type: "text" }`);
    }
    const { size } = await stat(file).then((found) => (found.isFile() ? found : { size: undefined }));
    if (size === undefined) return refusal(`${shown} is not a file`);
    this.#bytes += size;
    if (size > MAX_SOURCE_BYTES) return refusal(`${shown} is larger than ${MAX_SOURCE_BYTES} bytes`);
    if (this.#bytes > MAX_TOTAL_BYTES) return refusal(`all modules together are larger than ${MAX_TOTAL_BYTES} bytes`);
    if (loader !== "js" && loader !== "ts") return { contents: await readFile(file), loader };
    const text = withoutFileMaps(await readFile(file, "utf8"));
    const contents = isPackages(shown) ? await runnable(text, loader) : text;
    // Packages above the tool's folder are the operator's.
    if (this.#root === undefined || !isIn(file, this.#root)) return { contents, loader };
    const found = await parsed(contents, loader, shown);
    if (found.length > 0) return { errors: [...found] };
    if (half !== "call") return { contents, loader };
    const script = await asScript(contents, loader, shown);
    if (shown !== entry) return { contents: withPureSchemas(script), loader: "js" };
    const made = callHalf(script);
    if (made.kind === "whole") this.#wholeBecause = made.reason;
    return { contents: made.kind === "whole" ? "" : made.text, loader: "js" };
  }
}

/** Errors in a module found before it is bundled; `detail` marks those of the bundler itself. */
async function parsed(contents: string, loader: Loader, name: string): Promise<readonly Message[]> {
  const isOwn = !name.startsWith("node_modules/");
  const found = await checkImports(contents, loader, name, isOwn).catch((error: unknown) => {
    const messages = messagesOf(error);
    if (messages.length === 0) throw error;
    return messages;
  });
  return found.map((message) => ({ ...message, detail: BUNDLER }));
}

/** The messages in an error of esbuild; `[]` for any other error. */
export function messagesOf(error: unknown): readonly Message[] {
  if (typeof error !== "object" || error === null || !("errors" in error) || !Array.isArray(error.errors)) return [];
  return error.errors;
}

function namesPath(specifier: string): boolean {
  return /^\.{0,2}(?:[/\\]|$)/.test(specifier);
}

/** The npm package of a specifier: `@scope/name` for `@scope/name/file.js`. */
function packageName(specifier: string): string {
  return /^(?:@[^/]*\/)?[^/]*/.exec(specifier)?.[0] ?? specifier;
}

function packageFolders(root: string): string[] {
  const folders: string[] = [];
  for (let folder = root; ; folder = path.dirname(folder)) {
    folders.push(path.join(folder, MODULES));
    if (path.dirname(folder) === folder) return folders;
  }
}

function isIn(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return relative !== "" && relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

function outside(specifier: string): OnResolveResult {
  return refusal(
    `imports ${quoted(specifier)}, which leads out of the tool's folder; import only files inside it, and packages`,
  );
}

function noFolder(specifier: string): OnResolveResult {
  const what = `imports ${quoted(specifier)}, but a tool given as text has no folder to import from`;
  return refusal(`${what}; put it into a file and register that`);
}

/** File system errors contain paths of the host, so they are not reported. */
function unreadable(error: unknown, name: string): { errors: { text: string }[] } {
  if (!(error instanceof Error) || !("syscall" in error)) throw error;
  return refusal(`imports ${quoted(name)}, which cannot be read; check its file and its rights`);
}

function refusal(text: string): { errors: { text: string }[] } {
  return { errors: [{ text }] };
}

function quoted(specifier: string): string {
  return JSON.stringify(specifier.length > 200 ? `${specifier.slice(0, 200)}…` : specifier);
}
