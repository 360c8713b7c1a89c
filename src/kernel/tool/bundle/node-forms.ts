import { realpath } from "node:fs/promises";
import path from "node:path";
import type { OnResolveArgs, OnResolveResult } from "esbuild";
import { loaderOf, shownName } from "./module-name.ts";
import { isAt, type Manifests } from "./manifest.ts";
import { isForBrowsers, isPackages, missingModule, resolvedByNode } from "./missing.ts";
import { isInLibrary } from "./node-names.ts";
import type { Reach } from "./project.ts";
import { namesPath, packageFolder } from "./specifier.ts";

const SOCKETS: ReadonlySet<string> = new Set(["net", "tls", "node:net", "node:tls"]);

/** Packages that an isolate runs in their form for Node, because they have no other, or one that needs a document. */
export class NodeForms {
  readonly #manifests: Manifests;
  readonly #mayReach: (file: string, reach: Reach) => boolean;
  readonly #moduleAt: (real: string) => Promise<OnResolveResult | undefined>;
  /** Folders of packages that are taken in this form. */
  readonly #packages = new Set<string>();

  constructor(
    manifests: Manifests,
    mayReach: (file: string, reach: Reach) => boolean,
    moduleAt: (real: string) => Promise<OnResolveResult | undefined>,
  ) {
    this.#manifests = manifests;
    this.#mayReach = mayReach;
    this.#moduleAt = moduleAt;
  }

  /** Whether the `browser` field of the importing package puts something else in the place of a module of Node. */
  async isReplaced(specifier: string, importer: string | undefined): Promise<boolean> {
    if (importer === undefined) return false;
    const replaced = (await this.#manifests.of(importer)).replaced.get(specifier);
    // Nothing in its place would be less than the library has, and less than what a refused socket says.
    return typeof replaced === "string" || (replaced === false && !isInLibrary(specifier) && !SOCKETS.has(specifier));
  }

  /** Takes the package of a file in this form from now on. Whether it was not before. */
  take(file: string): boolean {
    const folder = packageFolder(file);
    if (folder === "" || this.#packages.has(folder)) return false;
    this.#packages.add(folder);
    return true;
  }

  /**
   * Whether the file that an import leads to is of a form for browsers that an isolate cannot run: its package is taken
   * in Node's from now on. Of paths, only one that the `browser` field leads elsewhere can be.
   */
  async replaces(real: string, specifier: string, folder: string): Promise<boolean> {
    if (namesPath(specifier) && isAt(real, path.resolve(folder, specifier))) return false;
    if (this.#packages.has(packageFolder(real))) return true;
    const isForDocuments = await isForBrowsers(real, await this.#manifests.of(real));
    if (isForDocuments) this.#packages.add(packageFolder(real));
    return isForDocuments;
  }

  /** Target of an import by a package of this form; `undefined` for other packages. */
  async ofPackage(specifier: string, folder: string, reach: Reach): Promise<OnResolveResult | undefined> {
    return this.#packages.has(packageFolder(folder)) ? this.at(specifier, folder, reach) : undefined;
  }

  /** Resolves a package that may have no form but Node's. One that nobody installed fails when it is evaluated. */
  async find(
    specifier: string,
    folder: string,
    { importer, kind }: OnResolveArgs,
    reach: Reach,
  ): Promise<OnResolveResult | null> {
    const module = namesPath(specifier) ? undefined : await this.at(specifier, folder, reach);
    if (module !== undefined) return module;
    const isLate = kind === "require-call" || kind === "dynamic-import";
    return isLate && isPackages(shownName(importer)) ? missingModule(specifier) : null;
  }

  async at(specifier: string, folder: string, reach: Reach): Promise<OnResolveResult | undefined> {
    const file = resolvedByNode(specifier, folder);
    const real = file === undefined ? undefined : await realpath(file).catch(() => undefined);
    if (real === undefined || !this.#mayReach(real, reach) || loaderOf(real) === undefined) return undefined;
    return this.#moduleAt(real);
  }
}
