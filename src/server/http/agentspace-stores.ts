import type { FastifyInstance } from "fastify";
import type { AssetOptions, AssetStore } from "../../contrib/agentspace/assets.ts";
import type { Registry, RegistryOptions } from "../../contrib/agentspace/registry.ts";
import type { Engine } from "../../kernel/engine/engine.ts";
import type { Surface } from "./surface.ts";

/** Storage of assets, and their public address. */
export interface ServedAssets extends AssetOptions {
  /** Base of asset URLs. Default: the server's `publicUrl`, else the host of the request. */
  readonly publicUrl?: string;
}

export interface StoreOptions {
  readonly assets?: ServedAssets;
  /** A registry that the embedder has opened and closes itself, or the options to open one. */
  readonly agentspace?: RegistryOptions | Registry;
  readonly publicUrl?: string;
}

const ASSET = /^\/assets\/([A-Za-z0-9_.-]{1,128})\/([A-Za-z0-9_.-]{1,128})\/([A-Za-z0-9_.-]{1,128})$/;

/** AgentSpace's stores of one server: uploads, and the records of their packages. */
export class AgentSpaceStores implements AsyncDisposable {
  readonly assets: AssetStore | null;
  readonly registry: Registry | null;
  /** Base of the addresses of assets; `null`: the host of a request. */
  readonly publicUrl: URL | null;
  readonly #owned: AsyncDisposable[];

  private constructor(
    assets: AssetStore | null,
    registry: Registry | null,
    publicUrl: URL | null,
    owned: AsyncDisposable[],
  ) {
    this.assets = assets;
    this.registry = registry;
    this.publicUrl = publicUrl;
    this.#owned = owned;
  }

  /** Opens the stores in the options. Rejects with a `StoreError`, or with a `TypeError` for an invalid address. */
  static async open(engine: Engine, options: StoreOptions): Promise<AgentSpaceStores> {
    const base = options.assets === undefined ? undefined : (options.assets.publicUrl ?? options.publicUrl);
    const publicUrl = base === undefined ? null : URL.parse(base);
    if (base !== undefined && publicUrl?.protocol !== "http:" && publicUrl?.protocol !== "https:") {
      throw new TypeError("assets.publicUrl is not an address that begins with https:// or http://");
    }
    const assets = options.assets === undefined ? null : await openAssets(options.assets);
    try {
      const { agentspace } = options;
      if (agentspace === undefined) return new AgentSpaceStores(assets, null, publicUrl, []);
      if (isOpen(agentspace)) return new AgentSpaceStores(assets, agentspace, publicUrl, []);
      const { openRegistry } = await import("../../contrib/agentspace/registry.ts");
      const registry = await openRegistry(engine, agentspace, (place) => fileAt(assets, place));
      return new AgentSpaceStores(assets, registry, publicUrl, [registry]);
    } catch (error) {
      assets?.[Symbol.dispose]();
      throw error;
    }
  }

  /** Parts of the registry that routes need. */
  surface(): Pick<Surface, "registry" | "uploadAt"> {
    const { registry } = this;
    return registry === null ? {} : { registry, uploadAt: (link, host) => this.uploadAt(link, host) };
  }

  /** Adds the routes of assets, if there is a store of them. */
  async addAssets(app: FastifyInstance): Promise<void> {
    if (this.assets === null) return;
    const { addAssets } = await import("./assets.ts");
    await addAssets(app, this.assets, this.publicUrl);
  }

  /** The place of an upload, if a link is its address on this server; `host`: that of a request. */
  uploadAt(link: string, host: string): string | undefined {
    const url = URL.parse(link);
    const bases = [this.publicUrl?.href.replace(/\/$/, ""), `http://${host}`];
    const base = bases.find((one) => one !== undefined && url?.href.startsWith(`${one}/assets/`) === true);
    if (base === undefined || url === null) return undefined;
    const place = ASSET.exec(url.href.slice(base.length));
    if (place === null) return undefined;
    const [, name = "", version = "", file = ""] = place;
    return this.assets?.find(name, version)?.file === file ? `${name}/${version}` : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#owned) await one[Symbol.asyncDispose]();
    this.assets?.[Symbol.dispose]();
  }
}

function isOpen(given: RegistryOptions | Registry): given is Registry {
  return "execute" in given;
}

async function openAssets(options: AssetOptions): Promise<AssetStore> {
  const { AssetStore } = await import("../../contrib/agentspace/assets.ts");
  return AssetStore.open(options);
}

async function fileAt(assets: AssetStore | null, place: string): Promise<string | undefined> {
  const [name = "", version = ""] = place.split("/");
  const asset = assets?.find(name, version);
  return asset && assets?.fileOf(asset);
}
