import { Connections, type FetchOptions } from "../broker/capabilities/fetch/connections.ts";
import { BoundedCache } from "../base/bounded-cache.ts";
import { within } from "../base/deadline.ts";
import { GloveboxError } from "../base/errors.ts";
import type { BuildOptions } from "./build/builds.ts";
import type { PackageContext } from "./package/open.ts";
import type { ResolvedPackageOptions } from "./package/options.ts";
import type { PackageEvent, Steps } from "./package/step.ts";
import type { Bundle } from "./bundle/bundle.ts";
import { bundlePackage } from "./bundle/code.ts";
import { projectsOf, type ToolRuntimes } from "./runtimes/runtime.ts";

/** A package bundled into one script. No unpacked file stays on disk. */
export interface BundledPackage {
  readonly name: string;
  readonly bundle: Bundle;
  /** The content of `tool.json`, unchecked; `undefined` if it does not exist. */
  readonly record: unknown;
  /** Reports the steps that follow. */
  readonly steps: Steps;
}

type Kept = Pick<BundledPackage, "bundle" | "record">;

const CLOSE_MS = 10_000;
const KEPT_MAX = 100;
const KEPT_BYTES_MAX = 64 * 1024 * 1024;

/** The packages of an engine: opens and bundles them, and caches the bundles of archives by content. */
export class Packages {
  readonly #context: PackageContext;
  readonly #runtimes: ToolRuntimes;
  /** Keyed by the archive's hash. */
  readonly #kept = new BoundedCache<Kept>(KEPT_MAX, KEPT_BYTES_MAX, weightOf);
  readonly #loading = new Set<Promise<unknown>>();
  #connections: Connections | null = null;
  #isClosed = false;

  /** `tell` receives an event for every step of every package. */
  constructor(
    options: ResolvedPackageOptions,
    runtimes: ToolRuntimes,
    fetch: FetchOptions,
    tell: (event: PackageEvent) => void,
  ) {
    this.#runtimes = runtimes;
    this.#context = {
      options,
      projects: projectsOf(runtimes),
      tell,
      connections: () => (this.#connections ??= new Connections(fetch)),
    };
  }

  get options(): ResolvedPackageOptions {
    return this.#context.options;
  }

  /**
   * Opens and bundles a package. An archive in the cache is not unpacked again. Rejects with a `GloveboxError` that
   * names the step. `registrant`: see `BuildOptions`.
   */
  async load(given: string, registrant: BuildOptions["registrant"] = null): Promise<BundledPackage> {
    if (this.#isClosed) throw new GloveboxError("engine_closed", "the engine is closing and registers no more tools");
    const loading = this.#load(given, registrant);
    this.#loading.add(loading);
    try {
      return await loading;
    } finally {
      this.#loading.delete(loading);
    }
  }

  /** Aborts downloads and waits until all unpacked files are deleted. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#connections?.close();
    await within(CLOSE_MS, Promise.allSettled(this.#loading));
    this.#kept.clear();
  }

  async #load(given: string, registrant: BuildOptions["registrant"]): Promise<BundledPackage> {
    // Loaded on demand: most engines have tools in modules only.
    const { findPackage, openPackage } = await import("./package/open.ts");
    const found = await findPackage(given, this.#context);
    const { name, steps, archive } = found;
    const known = archive === null ? undefined : this.#kept.get(archive.sha256);
    if (known !== undefined) return { name, steps, ...known };
    await using opened = await openPackage(found, this.#context, registrant);
    const { folder, layout, record } = opened;
    const made = await steps.take("install", async () => {
      const context = { lane: registrant, packages: this.#context.options, runtimes: this.#runtimes };
      return { bundle: await bundlePackage(folder, layout, name, context), record };
    });
    if (opened.sha256 !== null) this.#kept.set(opened.sha256, made);
    return { name, steps, ...made };
  }
}

function weightOf({ bundle }: Kept): number {
  return bundle.bytes + bundle.sourceMap.length;
}
