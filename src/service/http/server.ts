import "../../base/check-node.ts";
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { type AddressInfo, Server as NetServer } from "node:net";
import { setImmediate as immediate, setTimeout as delay } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { ScopedEngine } from "../access/scoped-engine.ts";
import type { KeyOptions } from "../access/key-options.ts";
import { Keys } from "../access/keys.ts";
import type { AssetOptions, AssetStore } from "../../ecosystems/agentspace/assets.ts";
import type { Engine } from "../../engine/engine.ts";
import { MAX_LIMITS } from "../../base/limits.ts";
import type { Access } from "./access.ts";
import { createApp } from "./app.ts";
import { BODIES_BYTES_DEFAULT } from "./body-budget.ts";
import { CONNECTION_LIMITS, type ConnectionLimits } from "./connections.ts";
import { addRoutes } from "./routes.ts";
import { isLoopback, type SiteOptions, Sites } from "./sites.ts";
import { Traffic } from "./traffic.ts";

export type { KeyGrant, KeyOptions, KeyQuota, KeySource } from "../access/key-options.ts";
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
  /**
   * `open`: where there are no keys, anybody on this machine may register and remove tools. Only on a loopback address.
   * Default: registering and removing needs a key with the role `admin`.
   */
  readonly admin?: "open";
  /** Default 8080; 0 for any that is free. */
  readonly port?: number;
  /** The largest body. Default: the largest input that a tool may take, and 64 KiB for what is around it. */
  readonly bodyBytes?: number;
  /** The calls that a batch may have. Default 256. */
  readonly batchCalls?: number;
  /** A socket that listens already, by its descriptor, instead of an address of its own. */
  readonly fd?: number;
  /** Whether other processes may listen on the same port beside this one. Default false. */
  readonly reusePort?: boolean;
  /** What the bodies of all requests under way may have together. Default 512 MiB, and at least one body's. */
  readonly bodiesBytes?: number;
  /** What each connection is allowed, and how many there may be. */
  readonly connections?: Partial<ConnectionLimits>;
  /** How long calls in flight may go on when the server closes. Default 5,000. */
  readonly drainMs?: number;
  /**
   * How long the server says in `/readyz` that it will close before it does: as long as a load balancer needs to notice.
   * Default 0.
   */
  readonly drainDelayMs?: number;
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
   * Stops: `/readyz` says so, for `drainDelayMs` before anything else happens; no connection is taken any more, and each
   * that there is takes one more request; calls in flight end or are ended after `drainMs`; the engine is closed.
   * Resolves when nothing is left.
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
  const { bodyBytes = BODY_BYTES_DEFAULT } = options;
  let isDraining = false;
  const host = oneAddress(options.host ?? HOST_DEFAULT);
  const access = openAccess(engine, options, host);
  const { batchCalls, processMetrics = true } = options;
  const limits = { ...CONNECTION_LIMITS, ...options.connections };
  const bodiesBytes = Math.max(options.bodiesBytes ?? BODIES_BYTES_DEFAULT, bodyBytes);
  const app = await createApp(bodyBytes, access, { limits, bodiesBytes, traffic: Traffic.of(engine.registry) });
  const endings: (() => void)[] = [];
  const onDrain = (end: () => void): void => void endings.push(end);
  const door = { engine, gate: access.gate, isDraining: () => isDraining, onDrain, processMetrics };
  addRoutes(app, batchCalls === undefined ? door : { ...door, batchCalls });
  const assets = options.assets === undefined ? null : await openAssets(app, options.assets, options.publicUrl);
  try {
    await app.ready();
    await listen(app.server, options);
    // Where the socket was handed over, only it knows.
    const bound = app.server.address();
    if (typeof bound === "object" && bound !== null) requireLoopback(bound.address, access.keys.size > 0, options);
  } catch (error) {
    assets?.[Symbol.dispose]();
    await app.close();
    throw error;
  }
  const shutDown = async (): Promise<void> => {
    isDraining = true;
    await stop(app, engine, options, endings);
    assets?.[Symbol.dispose]();
  };
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => (closing ??= shutDown());
  return { ...placeOf(app.server.address()), close, [Symbol.asyncDispose]: close };
}

/** Stops in an order in which no request is lost that was taken. */
async function stop(
  app: FastifyInstance,
  engine: Engine,
  { drainMs = DRAIN_DEFAULT_MS, drainDelayMs = 0 }: ServerOptions,
  endings: readonly (() => void)[],
): Promise<void> {
  if (drainDelayMs > 0) await delay(drainDelayMs);
  const { drain } = app;
  // Right after new connections were taken: those that come later are reset by the system.
  await immediate();
  drain.begin();
  for (const end of endings) end();
  const untilMs = performance.now() + drainMs;
  // The server's own way to close would cut connections on which a request is on its way.
  NetServer.prototype.close.call(app.server);
  await drain.wait(drainMs);
  await engine.close({ drainMs: Math.max(0, untilMs - performance.now()) });
  await drain.wait(LAST_ANSWERS_MS);
  app.server.closeAllConnections();
  await app.close();
}

async function listen(server: HttpServer, { host, port = PORT_DEFAULT, fd, reusePort }: ServerOptions): Promise<void> {
  const listening = once(server, "listening");
  if (fd !== undefined) server.listen({ fd });
  else server.listen({ host: oneAddress(host ?? HOST_DEFAULT), port, ...(reusePort === true ? { reusePort } : {}) });
  await listening;
}

function openAccess(engine: Engine, options: ServerOptions, host: string): Access {
  const keys = options.keys instanceof Keys ? options.keys : new Keys(options.keys ?? []);
  const hasKeys = keys.size > 0;
  if (options.fd === undefined) requireLoopback(host, hasKeys, options);
  const publicUrl = options.publicUrl ?? options.assets?.publicUrl;
  const sites = new Sites(publicUrl === undefined ? options : { ...options, publicUrl }, {
    host,
    hasKeys,
  });
  const isAdminOpen = options.admin === "open";
  return { engine, gate: new ScopedEngine(engine, keys), keys, isAdminOpen, sites };
}

function requireLoopback(host: string, hasKeys: boolean, { admin, allowAnybody = false }: ServerOptions): void {
  if (isLoopback(host)) return;
  if (admin === "open") {
    throw new TypeError(
      `admin is "open", which needs a loopback address, and ${host} is not one: listen on 127.0.0.1, or remove admin`,
    );
  }
  if (hasKeys || allowAnybody) return;
  throw new TypeError(
    `without keys the server listens on loopback addresses only, and ${host} is not one: configure keys (glovebox keys new)`,
  );
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

/** The system may mean another address by this name. */
function oneAddress(host: string): string {
  return host === "localhost" ? HOST_DEFAULT : host;
}

/** Where a server listens. A socket of this machine's own has no port. */
function placeOf(bound: AddressInfo | string | null): Pick<Server, "url" | "port"> {
  if (bound === null || typeof bound === "string") return { url: `unix:${bound ?? ""}`, port: 0 };
  const { address, family, port } = bound;
  return { url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`, port };
}
