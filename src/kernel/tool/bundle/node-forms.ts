import { realpath } from "node:fs/promises";
import path from "node:path";
import type { Message, OnResolveArgs, OnResolveResult } from "esbuild";
import { loaderOf, shownName } from "./module-name.ts";
import { isAt, type Manifests } from "./manifest.ts";
import { asLacking, unresolvedIn } from "./error.ts";
import { isLesser } from "./lesser-forms.ts";
import { isForBrowsers, isLacking, isPackages, missingModule } from "./missing.ts";
import { resolvedByNode } from "./node-exports.ts";
import { isInLibrary } from "./node-names.ts";
import type { Reach } from "./project.ts";
import { namesPath, packageFolder } from "./specifier.ts";

const SOCKETS: ReadonlySet<string> = new Set(["net", "tls", "node:net", "node:tls"]);

/** The files that a tool may read. */
interface Files {
  /** The path of a displayed name. */
  readonly fileOf: (shown: string) => string | undefined;
  readonly mayReach: (file: string, reach: Reach) => boolean;
  readonly moduleAt: (real: string) => Promise<OnResolveResult | undefined>;
}

/**
 * Packages that an isolate runs in their form for Node, because they have no other, or one that needs a document. Their
 * imports are taken in this form too: one form does not recognise objects of the other.
 */
export class NodeForms {
  readonly #manifests: Manifests;
  readonly #files: Files;
  /** Folders of packages that are taken in this form. */
  readonly #packages = new Set<string>();
  /** Folders of packages that the present bundle has in another form, with a file of it. */
  readonly #others = new Map<string, string>();
  /** Files to which the `exports` of packages lead browsers, and Node to others. */
  readonly #browsers = new Set<string>();
  #isMixed = false;
  /** Imports whose package is installed, and has no such file. */
  readonly #lacking = new Set<string>();

  constructor(manifests: Manifests, files: Files) {
    this.#manifests = manifests;
    this.#files = files;
  }

  /**
   * Takes packages in their form for Node from now on, if their form for browsers lacks imported names. Returns whether
   * there was one.
   */
  takeLacking(messages: readonly Message[]): boolean {
    let isAny = false;
    for (const { text } of messages) {
      const shown = /^No matching export in "([^"]+)"/.exec(text)?.[1];
      const file = shown === undefined ? undefined : this.#files.fileOf(shownName(shown));
      if (file !== undefined && this.take(file)) isAny = true;
    }
    return isAny;
  }

  /** Whether the bundle that was made since the last question has packages in two forms. */
  takeMixed(): boolean {
    const isMixed = this.#isMixed;
    this.#isMixed = false;
    this.#others.clear();
    return isMixed;
  }

  /** Whether the `browser` field of the importing package replaces a module of Node. */
  async isReplaced(specifier: string, importer: string | undefined): Promise<boolean> {
    if (importer === undefined || this.#packages.has(packageFolder(importer))) return false;
    const replaced = (await this.#manifests.of(importer)).replaced.get(specifier);
    // An empty module would offer less than the library, and less than the error of a refused socket.
    return typeof replaced === "string" || (replaced === false && !isInLibrary(specifier) && !SOCKETS.has(specifier));
  }

  /** Takes the package of a file in this form from now on. Returns whether that is new. */
  take(file: string): boolean {
    const folder = packageFolder(file);
    if (folder === "" || this.#packages.has(folder)) return false;
    this.#packages.add(folder);
    const other = this.#others.get(folder);
    if (other !== undefined && other !== file) this.#isMixed = true;
    return true;
  }

  /**
   * Whether the file that an import leads to is of a form for browsers that an isolate cannot run, or that does less
   * than Node's: its package is taken in Node's from now on. For paths, this is possible only by the `browser` field.
   */
  async replaces(real: string, specifier: string, folder: string, kind: string): Promise<boolean> {
    if (namesPath(specifier) && isAt(real, path.resolve(folder, specifier))) return false;
    if (this.#packages.has(packageFolder(real))) return true;
    const manifest = await this.#manifests.of(real);
    const { leftOut, conditions } = manifest;
    const hasForms = leftOut !== undefined || conditions.has("node") || conditions.has("browser");
    const isByName = hasForms && !namesPath(specifier);
    const nodes = isByName
      ? this.#otherFile(real, await resolvedByNode(specifier, folder, kind, this.#manifests))
      : undefined;
    const isTaken =
      (await isForBrowsers(real, manifest)) || (nodes !== undefined && (await isLesser(real, nodes, manifest)));
    if (isTaken) this.take(real);
    else this.#others.set(packageFolder(real), real);
    if (nodes !== undefined) this.#browsers.add(real);
    return isTaken;
  }

  /** Node's file of a package, if it is another one of that package. */
  #otherFile(real: string, nodes: string | undefined): string | undefined {
    const isOther = nodes !== undefined && nodes !== real && packageFolder(nodes) === packageFolder(real);
    return isOther && packageFolder(real) !== "" ? nodes : undefined;
  }

  /**
   * Takes the package of a module in this form if the module lacks exports of Node's form, and came with the form for
   * browsers.
   */
  seen(file: string, text: string): void {
    const other = this.#others.get(packageFolder(file));
    if (other === undefined || !this.#browsers.has(other) || !isLacking(text)) return;
    if (this.take(file)) this.#isMixed = true;
  }

  /** Target of an import by a package of this form; `undefined` for other packages. */
  async ofPackage(specifier: string, folder: string, kind: string, reach: Reach): Promise<OnResolveResult | undefined> {
    return this.#packages.has(packageFolder(folder)) ? this.at(specifier, folder, kind, reach) : undefined;
  }

  /** Resolves a package that may have only Node's form. A package that is not installed fails when it is evaluated. */
  async find(
    specifier: string,
    folder: string,
    { importer, kind }: OnResolveArgs,
    reach: Reach,
  ): Promise<OnResolveResult | null> {
    const module = namesPath(specifier) ? undefined : await this.at(specifier, folder, kind, reach);
    if (module !== undefined) return module;
    const isLate = kind === "require-call" || kind === "dynamic-import";
    if (isLate && isPackages(shownName(importer))) return missingModule(specifier);
    if (!namesPath(specifier) && (await this.#manifests.hasPackage(specifier, folder))) this.#lacking.add(specifier);
    return null;
  }

  /** The same messages, with those marked that are about an installed package without what was imported of it. */
  explained(messages: readonly Message[]): readonly Message[] {
    return messages.map((message) => {
      const specifier = unresolvedIn(message);
      return specifier !== undefined && this.#lacking.has(specifier) ? asLacking(message) : message;
    });
  }

  async at(specifier: string, folder: string, kind: string, reach: Reach): Promise<OnResolveResult | undefined> {
    const file = await resolvedByNode(specifier, folder, kind, this.#manifests);
    const real = file === undefined ? undefined : await realpath(file).catch(() => undefined);
    if (real === undefined || !this.#files.mayReach(real, reach) || loaderOf(real) === undefined) return undefined;
    if (this.#packages.has(packageFolder(folder))) this.take(real);
    return this.#files.moduleAt(real);
  }
}
