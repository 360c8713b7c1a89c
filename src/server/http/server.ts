import "../../kernel/base/check-node.ts";
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { type AddressInfo, Server as NetServer } from "node:net";
import { setImmediate as immediate, setTimeout as delay } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { ScopedEngine } from "../access/scoped-engine.ts";
import type { KeyOptions } from "../access/key-options.ts";
import { Keys } from "../access/keys.ts";
import type { OAuthOptions } from "../access/oauth-options.ts";
import { Tokens } from "../access/tokens.ts";
import type { Engine } from "../../kernel/engine/engine.ts";
import type { Registry, RegistryOptions } from "../../contrib/agentspace/registry.ts";
import type { Access } from "./access.ts";
import { AgentSpaceStores, type ServedAssets } from "./agentspace-stores.ts";
import { createApp } from "./app.ts";
import { BODIES_BYTES_DEFAULT, BODY_BYTES_DEFAULT } from "./body-budget.ts";
import { DRAIN_DEFAULT_MS, LAST_ANSWERS_MS } from "./drain.ts";
import { CONNECTION_LIMITS, type ConnectionLimits } from "./connections.ts";
import { addResourceMetadata } from "./health.ts";
import { addRoutes } from "./routes.ts";
import { isLoopback, oneAddress, type SiteOptions, OriginCheck } from "./origin-check.ts";
import { ResourceMetadata } from "./resource-metadata.ts";
import { addShortWay } from "./short-way.ts";
import { Traffic } from "./traffic.ts";

export type { KeyGrant, KeyOptions, KeyQuota, KeySource } from "../access/key-options.ts";
export type { IntrospectionOptions, OAuthOptions } from "../access/oauth-options.ts";
export type { ServedAssets } from "./agentspace-stores.ts";
export type { SiteOptions } from "./origin-check.ts";

export interface ServerOptions extends SiteOptions {
  /** Address to listen on: a loopback address, unless there are keys or `allowAnybody` is set. Default 127.0.0.1. */
  readonly host?: string;
  /** Keys of clients. Default: none; every user of this machine may use the server, with the restriction by `admin`. */
  readonly keys?: readonly KeyOptions[] | Keys;
  /** An authorization server whose tokens are accepted besides the keys. It needs `publicUrl`. Default: none. */
  readonly oauth?: OAuthOptions | Tokens;
  /**
   * Listens on other than loopback addresses without keys: for servers behind a proxy that authenticates. Default
   * false.
   */
  readonly allowAnybody?: boolean;
  /**
   * `open`: without keys, every user of this machine may register and remove tools; only on a loopback address.
   * Default: both need a key with the role `admin`.
   */
  readonly admin?: "open";
  /** Default 8080; 0 for any free port. */
  readonly port?: number;
  /** Maximum size of a request body. Default: the maximum input of a tool plus 64 KiB. */
  readonly bodyBytes?: number;
  /** Maximum number of calls in a batch. Default 256. */
  readonly batchCalls?: number;
  /** Descriptor of a listening socket, used instead of `host` and `port`. */
  readonly fd?: number;
  /** Whether other processes may listen on the same port. Default false. */
  readonly reusePort?: boolean;
  /** Memory budget for the bodies of all requests in progress. Default 512 MiB; at least one body. */
  readonly bodiesBytes?: number;
  /** Limits of connections, and their maximum number. */
  readonly connections?: Partial<ConnectionLimits>;
  /** Maximum time to finish running calls when the server closes, in milliseconds. Default 5,000. */
  readonly drainMs?: number;
  /**
   * Delay between failing `/readyz` and closing the listener, in milliseconds: the time in which a load balancer
   * notices. Default 0.
   */
  readonly drainDelayMs?: number;
  /** Storage of uploaded AgentSpace packages. Default: none, and no routes for them. */
  readonly assets?: ServedAssets;
  /** AgentSpace's registry: an open one, or the options to open one. Default: none, and no routes for it. */
  readonly agentspace?: RegistryOptions | Registry;
  /**
   * Whether `/metrics` includes this process: memory, files, CPU time, event loop delay. Default: true, unless the
   * engine's registry already has these metrics.
   */
  readonly processMetrics?: boolean;
}

/** A listening server. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /**
   * Stops the server: fails `/readyz`, waits `drainDelayMs`, stops accepting connections, accepts one more request on
   * each open connection, ends calls that still run after `drainMs`, and closes the engine. Resolves when all is
   * closed.
   */
  close(): Promise<void>;
}

const HOST_DEFAULT = "127.0.0.1";
const PORT_DEFAULT = 8_080;

/**
 * Serves an engine over HTTP; closing the server closes the engine. Rejects if it cannot listen, with a `StoreError` if
 * the asset folder is unusable, and with a `TypeError` if an option is invalid or other machines could use the server
 * without a key.
 */
export async function createServer(engine: Engine, options: ServerOptions = {}): Promise<Server> {
  const stores = await AgentSpaceStores.open(engine, options);
  try {
    return await serve(engine, options, stores);
  } catch (error) {
    await stores[Symbol.asyncDispose]();
    throw error;
  }
}

async function serve(engine: Engine, options: ServerOptions, stores: AgentSpaceStores): Promise<Server> {
  const { bodyBytes = BODY_BYTES_DEFAULT } = options;
  let isDraining = false;
  const host = oneAddress(options.host ?? HOST_DEFAULT);
  const access = await openAccess(engine, options, host, stores.registry);
  const { batchCalls, processMetrics = true } = options;
  const limits = { ...CONNECTION_LIMITS, ...options.connections };
  const bodiesBytes = Math.max(options.bodiesBytes ?? BODIES_BYTES_DEFAULT, bodyBytes);
  const app = await createApp(bodyBytes, access, { limits, bodiesBytes, traffic: Traffic.of(engine.registry) });
  const endings: (() => void)[] = [];
  const onDrain = (end: () => void): void => void endings.push(end);
  const publicUrl = options.publicUrl === undefined ? {} : { publicUrl: options.publicUrl };
  const surface = { engine, gate: access.gate, isDraining: () => isDraining, onDrain, processMetrics, ...publicUrl };
  const routed = { ...surface, ...stores.surface(), ...(batchCalls === undefined ? {} : { batchCalls }) };
  addRoutes(app, routed);
  if (access.tokens !== undefined) addResourceMetadata(app, new ResourceMetadata(access.tokens.settings));
  addShortWay(app, routed);
  await stores.addAssets(app);
  try {
    await app.ready();
    await listen(app.server, options);
    // The address of an inherited socket is unknown before.
    const bound = app.server.address();
    if (typeof bound === "object" && bound !== null) requireLoopback(bound.address, hasKeys(access), options);
  } catch (error) {
    await app.close();
    throw error;
  }
  const shutDown = async (): Promise<void> => {
    isDraining = true;
    await stop(app, engine, options, endings);
    await stores[Symbol.asyncDispose]();
  };
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => (closing ??= shutDown());
  return { ...placeOf(app.server.address()), close, [Symbol.asyncDispose]: close };
}

/** Stops in an order that loses no accepted request. */
async function stop(
  app: FastifyInstance,
  engine: Engine,
  { drainMs = DRAIN_DEFAULT_MS, drainDelayMs = 0 }: ServerOptions,
  endings: readonly (() => void)[],
): Promise<void> {
  if (drainDelayMs > 0) await delay(drainDelayMs);
  const { drain } = app;
  // Begin right after the event loop has accepted new connections: the system resets those that come later.
  await immediate();
  drain.begin();
  for (const end of endings) end();
  const untilMs = performance.now() + drainMs;
  // `http.Server.close` would also close idle connections on which a request is on its way.
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

/** Whether callers need a key or a token. */
function hasKeys({ keys, tokens }: Pick<Access, "keys" | "tokens">): boolean {
  return keys.size > 0 || tokens !== undefined;
}

async function openAccess(
  engine: Engine,
  options: ServerOptions,
  host: string,
  registry: Registry | null,
): Promise<Access> {
  const keys = options.keys instanceof Keys ? options.keys : new Keys(options.keys ?? []);
  const { oauth } = options;
  const tokens = oauth instanceof Tokens || oauth === undefined ? oauth : await Tokens.open(oauth, options.publicUrl);
  const holders = tokens === undefined ? { keys } : { keys, tokens };
  if (options.fd === undefined) requireLoopback(host, hasKeys(holders), options);
  const publicUrl = options.publicUrl ?? options.assets?.publicUrl;
  const originCheck = new OriginCheck(publicUrl === undefined ? options : { ...options, publicUrl }, {
    host,
    hasKeys: hasKeys(holders),
  });
  const isAdminOpen = options.admin === "open";
  const gate = new ScopedEngine(engine, keys, registry);
  // For as long as the engine: it closes with the server.
  engine.calls.readmitWith(gate.readmit);
  return { engine, gate, ...holders, isAdminOpen, originCheck };
}

function requireLoopback(host: string, isClosed: boolean, { admin, allowAnybody = false }: ServerOptions): void {
  if (isLoopback(host)) return;
  if (admin === "open") {
    throw new TypeError(
      `admin is "open", which needs a loopback address, and ${host} is not one: listen on 127.0.0.1, or remove admin`,
    );
  }
  if (isClosed || allowAnybody) return;
  throw new TypeError(
    `without keys the server listens on loopback addresses only, and ${host} is not one: configure keys (glovebox keys new)`,
  );
}

/** URL and port of a listening server. A Unix socket has no port. */
function placeOf(bound: AddressInfo | string | null): Pick<Server, "url" | "port"> {
  if (bound === null || typeof bound === "string") return { url: `unix:${bound ?? ""}`, port: 0 };
  const { address, family, port } = bound;
  return { url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`, port };
}
