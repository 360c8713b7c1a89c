import { lstat, readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { withFolders, withPlainRequires } from "./computed-names.ts";
import { BUNDLER } from "./error.ts";
import { checkImports, withoutFileMaps } from "./imports.ts";
import { callHalf, TOOL_ENTRY, withPureSchemas } from "./halves.ts";
import { isLeftOut, Manifests } from "./manifest.ts";
import { isPackages, missingModule, runnable } from "./missing.ts";
import { loaderOf, LOADERS, MODULE_MARK, shownName } from "./module-name.ts";
import { ModulePlaces, PLACE } from "./module-places.ts";
import { NodeForms } from "./node-forms.ts";
import { isNative } from "./native.ts";
import { isNodeBuiltin, loadNodeModules, nodeModule } from "./node-names.ts";
import type { Project, Reach } from "./project.ts";
import { isSchemaLibrary } from "./purity.ts";
import { ENGINE_ENTRY, IS_PROGRAM, noFolder, OUTSIDE, refusal, refusedImport, unreadable } from "./refusal.ts";
import { MAX_PROJECT_SOURCE_BYTES, MAX_SOURCE_BYTES, SourceBudget } from "./source-budget.ts";
import { isIn, MODULES, namesPath, packageFolders, packageName } from "./specifier.ts";
import { asScript, type Half, toolEntryText } from "./tool-entry.ts";
import { madeLoader, PLAIN } from "./ts-config.ts";
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

/**
 * All modules are in a namespace of Glovebox under their displayed names. So esbuild has no path from which it could
 * read a file by itself (as it does for source map comments and for patterns in `import()`), and no path of the host
 * can get into a bundle, a source map or a message.
 */
const NAMESPACE = "tool";
/** Modules that a package's `browser` field replaces by an empty one. */
const EMPTY_NAMESPACE = "empty";
/** The module that defines tools: the bundler's own. */
const ENTRY_NAMESPACE = "glovebox";
const MAX_HOST_FILES = 10_000;
/** The modules that define `import.meta`, under the names of their modules. */
const PLACE_NAMESPACE = "place";
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
  readonly #project: Project | undefined;
  /** The text of a tsconfig.json with the options of the bundle. */
  readonly options: string;
  /** Displayed names to paths. */
  readonly #paths = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly #answers = new Map<string, Promise<OnResolveResult | null>>();
  readonly #manifests = new Manifests((file) => this.#mayReach(file));
  readonly #places = new ModulePlaces({
    fileOf: (shown) => this.#paths.get(shown),
    placeOf: (shown) => this.#project?.placeOf(this.#paths.get(shown)) ?? shown,
    mayReach: (file, importer) => this.#mayReach(file, this.#reachOf(importer)),
    isOwn: (file) => this.#isOwn(file),
    take: (file, size) => this.#budget.take(this.nameOf(file) ?? "a file", size),
  });
  readonly #budget: SourceBudget;
  readonly nodeForms = new NodeForms(this.#manifests, {
    fileOf: (shown) => this.#paths.get(shown),
    mayReach: (file, reach) => this.#mayReach(file, reach),
    moduleAt: (real) => this.#moduleAt(real),
  });
  /** Whether a module defines a tool. */
  #definesTool = false;
  /** The reason why the last bundle is not the half of a tool for calls, if it is not. */
  #wholeBecause: string | undefined;

  /**
   * `root` and the folder of the scope's `node_modules` must be real paths. `project`: its files may be read, in
   * addition to those in the tool's folder. `options`: those of the tool's own module, from `Project.optionsFor`.
   */
  constructor(root: string | undefined, scope?: PackageScope, project?: Project, options: string = PLAIN) {
    this.options = options;
    this.#root = root;
    this.#scope = scope;
    this.#project = project;
    this.#budget = new SourceBudget(project === undefined ? MAX_SOURCE_BYTES : MAX_PROJECT_SOURCE_BYTES);
    if (scope !== undefined) this.#packages = scope.modules === undefined ? [] : [path.join(scope.modules, MODULES)];
    else this.#packages = root === undefined ? [] : packageFolders(root);
  }

  /** The displayed name of a file; `undefined` if the tool may not read it. */
  nameOf(file: string): string | undefined {
    const known = this.#names.get(file);
    if (known !== undefined) return known;
    if (!this.#mayReach(file)) return undefined;
    const folders = [...this.#packages, this.#root, this.#project?.folder];
    const folder = folders.find((one) => one !== undefined && isIn(file, one));
    if (folder === undefined) return undefined;
    const inside = path.relative(folder, file).split(path.sep).join("/");
    let name = this.#packages.includes(folder) ? `node_modules/${inside}` : inside;
    for (let copy = 2; this.#paths.has(name); copy++) name = `${name.replace(/#\d+$/, "")}#${copy}`;
    this.#names.set(file, name);
    this.#paths.set(name, file);
    return name;
  }

  /** The displayed names of all files found so far. */
  shownNames(): ReadonlySet<string> {
    return new Set(this.#paths.keys());
  }

  /** A module given as text, without its `import.meta`. */
  async placed<Given extends { readonly contents: string; readonly loader: Loader; readonly sourcefile: string }>(
    given: Given,
  ): Promise<Given> {
    return { ...given, contents: await this.#places.place(given.contents, given.loader, given.sourcefile) };
  }

  /** Paths of all files that the bundles depend on, sorted. */
  hostFiles(): readonly string[] {
    const all = new Set([...this.#paths.values(), ...this.#manifests.files, ...(this.#project?.configFiles ?? [])]);
    return [...all].sort().slice(0, MAX_HOST_FILES);
  }

  /** Names and sizes of the packages with most bytes in the last bundle, for messages. */
  largest(): string {
    return this.#budget.largest();
  }

  /** Whether a module of the last bundle imports a function that defines tools. */
  get definesTool(): boolean {
    return this.#definesTool;
  }

  /** The reason why the last bundle is not the half of a tool for calls; `undefined` if it is. */
  get wholeBecause(): string | undefined {
    return this.#wholeBecause;
  }

  /** The esbuild plugin for these files. `entry` is the name of the tool's own file, if it has one. */
  plugin(entry: string | undefined, half: Half): Plugin {
    return {
      name: "tool-files",
      setup: (build) => {
        // The same files may be bundled more than once.
        this.#budget.clear();
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
        build.onLoad({ filter: /.*/, namespace: PLACE_NAMESPACE }, (args) =>
          this.#places.load(args.path).catch((error: unknown) => unreadable(error, args.path)),
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
    if (args.kind === "entry-point") {
      const own = entry === undefined ? undefined : this.#paths.get(entry);
      return own === undefined ? null : ((await this.#moduleAt(own)) ?? null);
    }
    if (args.path === TOOL_ENTRY) {
      this.#definesTool = true;
      return { path: "tool", namespace: ENTRY_NAMESPACE };
    }
    if (args.path === PLACE) return { path: shownName(args.importer), namespace: PLACE_NAMESPACE };
    const specifier = args.path;
    if (specifier.startsWith("data:")) return null;
    const importer = this.#paths.get(shownName(args.importer));
    if (specifier === ENGINE_ENTRY && this.#isOwn(importer)) return refusedImport(specifier, IS_PROGRAM);
    if (isNodeBuiltin(specifier) && !(await this.nodeForms.isReplaced(specifier, importer)))
      return nodeModule(specifier, args.kind);
    if (specifier.startsWith("node:"))
      return isNodeBuiltin(specifier) ? { path: specifier, namespace: EMPTY_NAMESPACE } : null;
    if (isNative(specifier) && isPackages(shownName(args.importer))) return missingModule(specifier);
    if (/^[a-z][a-z\d+.-]*:/i.test(specifier)) return refusedImport(specifier, "a URL; a tool may not import URLs");
    const isScoped = this.#scope !== undefined && this.#isOwn(importer);
    const folder = this.#folderFor(specifier, importer, isScoped);
    if (typeof folder === "object") return folder;
    if (folder === undefined) return noFolder(specifier);
    const isPath = namesPath(specifier);
    if (!isPath && /[/\\]\.\.(?:[/\\]|$)/.test(specifier)) return this.#outside(specifier);
    // Without this, a tool with a list of packages could reach others by path or through a manifest of its own.
    const isKept = isScoped && (isPath || this.#scope?.names.has(packageName(specifier)) !== true);
    const reach = isKept ? "own" : this.#reachOf(importer);
    // Checked before any disk access: a result that depends on the disk would reveal which files of the host exist.
    const place = path.resolve(folder, specifier);
    const mayLead = reach === "project" ? this.#project?.encloses(place) : this.#project?.hasPackage(place);
    if (isPath && !this.#mayReach(place, reach) && mayLead !== true) return this.#outside(specifier, place, reach);
    // A package's modules import each other repeatedly, and each resolution is a round trip to the bundler's process.
    const question = JSON.stringify([folder, specifier, args.kind, args.with, reach]);
    let answer = this.#answers.get(question);
    if (answer === undefined)
      this.#answers.set(question, (answer = this.#findMapped(build, specifier, folder, args, reach)));
    return answer;
  }

  /** First resolves imports by own modules with the project's tsconfig.json. */
  async #findMapped(
    build: PluginBuild,
    specifier: string,
    folder: string,
    args: OnResolveArgs,
    reach: Reach,
  ): Promise<OnResolveResult | null> {
    const targets = await this.#project?.targets(specifier, this.#paths.get(shownName(args.importer)));
    for (const target of targets ?? []) {
      if (this.#project?.encloses(target) !== true && !this.#mayReach(target)) return this.#outside(specifier, target);
      const found = await this.#find(build, target, folder, args, reach);
      if (found !== null) return found;
    }
    return this.#find(build, specifier, folder, args, reach);
  }

  /** In the half for calls, an unused schema library is left out, in spite of side effects of its modules. */
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
    if (importer === undefined || (this.#root !== undefined && isIn(importer, this.#root))) return true;
    return this.#project?.isOwn(importer) === true;
  }

  /** The folder from which to resolve a module's import, or the refusal of an import that is never allowed. */
  #folderFor(specifier: string, importer: string | undefined, isScoped: boolean): string | undefined | OnResolveResult {
    const folder = importer === undefined ? this.#root : path.dirname(importer);
    if (this.#scope === undefined || !isScoped || namesPath(specifier)) return folder;
    if (this.#scope.names.has(packageName(specifier))) return this.#scope.modules;
    return refusedImport(specifier, "which the package does not list; add it to code/requirements.txt");
  }

  async #find(
    build: PluginBuild,
    specifier: string,
    folder: string,
    args: OnResolveArgs,
    reach: Reach,
  ): Promise<OnResolveResult | null> {
    const plain = await this.#findPlain(specifier, folder);
    if (plain !== undefined) return plain;
    const other = await this.nodeForms.ofPackage(specifier, folder, args.kind, reach);
    if (other !== undefined) return other;
    const options = { resolveDir: folder, kind: args.kind, with: args.with, pluginData: this };
    const found = await build.resolve(specifier, options);
    if (found.errors.length > 0 || found.path === "") {
      const late = await this.nodeForms.find(specifier, folder, args, reach);
      return late ?? (await this.#project?.refusedLink(specifier, folder)) ?? null;
    }
    if (found.namespace !== "file" || isLeftOut(found.path, await this.#manifests.of(found.path)))
      return { path: specifier, namespace: EMPTY_NAMESPACE };
    const real = await realpath(found.path);
    if (isNative(real) && isPackages(shownName(args.importer))) return missingModule(path.basename(real));
    const isReachable = this.#mayReach(real, reach);
    const isReplaced = isReachable && (await this.nodeForms.replaces(real, specifier, folder, args.kind));
    const inNode = isReplaced ? await this.nodeForms.at(specifier, folder, args.kind, reach) : undefined;
    if (inNode !== undefined) return inNode;
    const module = isReachable ? await this.#moduleAt(real) : undefined;
    if (module === undefined)
      return (await this.#project?.refusedLink(specifier, folder)) ?? this.#outside(specifier, real, reach);
    return { ...module, sideEffects: found.sideEffects };
  }

  /** The refusal of an import that leads to a file which the tool may not read. */
  #outside(specifier: string, file?: string, reach?: Reach): OnResolveResult {
    const why = reach === "packages" ? this.#project?.refusalToPackage(file) : undefined;
    return refusedImport(specifier, why ?? this.#project?.refusalOf(file) ?? OUTSIDE);
  }

  /**
   * Resolves a plain relative path. The bundler would find the same file, but lists the folder again for each
   * resolution: ten times as long in packages of a thousand files.
   */
  async #findPlain(specifier: string, folder: string): Promise<OnResolveResult | undefined> {
    if (!/^\.{1,2}\/.*\.[cm]?[jt]s$/.test(specifier)) return undefined;
    const file = path.resolve(folder, specifier);
    const { sideEffects, replaced } = await this.#manifests.of(file);
    if (replaced.size > 0 || sideEffects === undefined) return undefined;
    const found = await lstat(file).catch(() => undefined);
    if (found?.isFile() !== true || (await realpath(file)) !== file) return undefined;
    const module = await this.#moduleAt(file);
    return module === undefined ? undefined : { ...module, sideEffects };
  }

  async #moduleAt(real: string): Promise<OnResolveResult | undefined> {
    const name = this.nameOf(real);
    if (name === undefined) return undefined;
    // The extensions `.mjs` and `.mts` mark modules by themselves.
    const isModule = /\.[jt]sx?$/.test(real) && (await this.#manifests.of(real)).isModule;
    return { path: isModule ? name + MODULE_MARK : name, namespace: NAMESPACE };
  }

  /** Packages may not import the project's own files; nor may a `data:` module, which no file is the importer of. */
  #reachOf(importer: string | undefined): Reach {
    return importer !== undefined && this.#project?.isOwn(importer) === true ? "project" : "packages";
  }

  #mayReach(file: string, reach: Reach = "project"): boolean {
    const folders = reach === "own" ? [this.#root] : [...this.#packages, this.#root];
    if (folders.some((folder) => folder !== undefined && isIn(file, folder))) return true;
    if (reach === "own" || this.#project?.holds(file) !== true) return false;
    return reach === "project" || this.#project.hasPackage(file);
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
    this.#budget.take(shown, size);
    if (loader === "json" || loader === "text") return { contents: await readFile(file), loader };
    const given = withoutFileMaps(await readFile(file, "utf8"));
    if (isPackages(shown)) this.nodeForms.seen(file, given);
    const options = (await this.#project?.optionsFor(file)) ?? PLAIN;
    const text = await (isPackages(shown)
      ? runnable(given, loader, file)
      : this.#ownText(given, loader, file, options));
    // Packages above the tool's folder are the operator's.
    const isOwn = this.#isOwn(file);
    const found = isOwn ? await parsed(text, loader, shown, options) : [];
    if (found.length > 0) return { errors: [...found] };
    const contents = await this.#places.place(text, loader, shown, options);
    // The bundler knows the options of the tool's own module only.
    const isForeign = loader !== "js" && options !== this.options;
    if (!isOwn || half !== "call") {
      if (!isForeign) return { contents, loader };
      return { contents: await asScript(contents, loader, shown, options), loader: madeLoader(options, this.options) };
    }
    const script = await asScript(contents, loader, shown, options);
    if (shown !== entry) return { contents: withPureSchemas(script), loader: "js" };
    const made = callHalf(script);
    if (made.kind === "whole") this.#wholeBecause = made.reason;
    return { contents: made.kind === "whole" ? "" : made.text, loader: "js" };
  }

  /** The text of a module that is no package's. */
  async #ownText(contents: string, loader: Loader, file: string, options: string): Promise<string> {
    const text = withPlainRequires(contents, true);
    const project = this.#project;
    return project === undefined ? text : withFolders(text, loader, file, options, (place) => project.encloses(place));
  }
}

/** Errors in a module found before it is bundled; `detail` marks those of the bundler itself. */
async function parsed(contents: string, loader: Loader, name: string, options: string): Promise<readonly Message[]> {
  const found = await checkImports(contents, loader, name, !isPackages(name), options).catch((error: unknown) => {
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
