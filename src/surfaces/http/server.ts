import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { Gate } from "../../access/gate.ts";
import type { KeyOptions } from "../../access/key-options.ts";
import { Keys } from "../../access/keys.ts";
import type { AssetOptions, AssetStore } from "../../ecosystems/agentspace/assets.ts";
import type { Engine } from "../../engine.ts";
import { MAX_LIMITS } from "../../limits.ts";
import type { Access } from "./access.ts";
import { createApp } from "./app.ts";
import { addRoutes } from "./routes.ts";
import { isLoopback, type SiteOptions, Sites } from "./sites.ts";

export type { KeyGrant, KeyOptions, KeyQuota, KeySource } from "../../access/key-options.ts";
export type { SiteOptions } from "./sites.ts";

export interface ServerOptions extends SiteOptions {
  /** The address to listen on. Default 127.0.0.1. Without keys there is no other choice: see `allowAnybody`. */
  readonly host?: string;
  /** Who may use the server, and for what. Default: whoever is on this machine, for everything. */
  readonly keys?: readonly KeyOptions[] | Keys;
  /**
   * Listens where other machines reach the server, and asks nobody for a key: for those who have something before it
   * that does. Default false.
   */
  readonly allowAnybody?: boolean;
  /** Default 8080; 0 for any that is free. */
  readonly port?: number;
  /** The largest body. Default: the largest input that a tool may take, and 64 KiB for what is around it. */
  readonly bodyBytes?: number;
  /** The calls that a batch may have. Default 256. */
  readonly batchCalls?: number;
  /** How long calls in flight may go on when the server closes. Default 5,000. */
  readonly drainMs?: number;
  /** Where uploaded packages of AgentSpace's tools are kept. Default: nowhere, and there are no routes for them. */
  readonly assets?: ServedAssets;
  /**
   * Whether `/metrics` tells of this process as well: its memory, files, processor time, and the delay of its event loop.
   * Default: true, unless the engine's registry does.
   */
  readonly processMetrics?: boolean;
}

/** Assets, and where clients find them. */
export interface ServedAssets extends AssetOptions {
  /** Where clients find assets, for the addresses that the server answers. Default: its own `publicUrl`, else the one they used. */
  readonly publicUrl?: string;
}

/** A server that listens. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /**
   * Stops: `/readyz` says so, no connection is taken any more, calls in flight end or are ended after `drainMs`, the
   * engine is closed. Resolves when nothing is left.
   */
  close(): Promise<void>;
}

const HOST_DEFAULT = "127.0.0.1";
const PORT_DEFAULT = 8_080;
const BODY_BYTES_DEFAULT = MAX_LIMITS.inputBytes + 64 * 1024;
const DRAIN_DEFAULT_MS = 5_000;
/** How long clients may take to read the last answers once there are no calls any more. */
const LAST_ANSWERS_MS = 1_000;

/**
 * Serves an engine over HTTP, and closes it when it is closed itself. Rejects where it cannot listen, with a
 * `StoreError` where the folder of assets cannot be used, and with a `TypeError` where an option is wrong, or where
 * anybody on other machines could use the server without a key.
 */
export async function createServer(engine: Engine, options: ServerOptions = {}): Promise<Server> {
  const { port = PORT_DEFAULT, bodyBytes = BODY_BYTES_DEFAULT, drainMs = DRAIN_DEFAULT_MS } = options;
  let isDraining = false;
  const host = oneAddress(options.host ?? HOST_DEFAULT);
  const access = openAccess(engine, options, host);
  const { batchCalls, processMetrics = true } = options;
  const app = createApp(bodyBytes, access);
  const door = { engine, gate: access.gate, isDraining: () => isDraining, processMetrics };
  addRoutes(app, batchCalls === undefined ? door : { ...door, batchCalls });
  const assets = options.assets === undefined ? null : await openAssets(app, options.assets, options.publicUrl);
  try {
    await app.listen({ host, port });
  } catch (error) {
    assets?.[Symbol.dispose]();
    throw error;
  }
  const address = app.server.address() as AddressInfo;
  const shutDown = async (): Promise<void> => {
    isDraining = true;
    const closed = app.close();
    await engine.close({ drainMs });
    const timer = setTimeout(() => app.server.closeAllConnections(), LAST_ANSWERS_MS);
    await closed;
    clearTimeout(timer);
    assets?.[Symbol.dispose]();
  };
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => (closing ??= shutDown());
  return { url: urlOf(address), port: address.port, close, [Symbol.asyncDispose]: close };
}

function openAccess(engine: Engine, options: ServerOptions, host: string): Access {
  const known = options.keys instanceof Keys ? options.keys : new Keys(options.keys ?? []);
  const keys = known.size === 0 ? null : known;
  if (keys === null && !isLoopback(host) && options.allowAnybody !== true) {
    throw new TypeError(
      `without keys the server listens on loopback only, and ${host} is not: give it keys, as glovebox keys new makes them`,
    );
  }
  const publicUrl = options.publicUrl ?? options.assets?.publicUrl;
  const sites = new Sites(publicUrl === undefined ? options : { ...options, publicUrl }, {
    host,
    hasKeys: keys !== null,
  });
  return { engine, gate: new Gate(engine, known), keys, sites };
}

async function openAssets(
  app: FastifyInstance,
  assets: ServedAssets,
  serverUrl: string | undefined,
): Promise<AssetStore> {
  const { publicUrl = serverUrl, ...options } = assets;
  const { AssetStore } = await import("../../ecosystems/agentspace/assets.ts");
  const { addAssets } = await import("./assets.ts");
  const url = publicUrl === undefined ? null : URL.parse(publicUrl);
  if (publicUrl !== undefined && url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new TypeError("assets.publicUrl is not an address that begins with https:// or http://");
  }
  const store = await AssetStore.open(options);
  await addAssets(app, store, url);
  return store;
}

/** The framework would open a second listener for the other address of this name, which close() could not empty. */
function oneAddress(host: string): string {
  return host === "localhost" ? HOST_DEFAULT : host;
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}
