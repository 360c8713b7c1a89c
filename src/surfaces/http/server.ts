import type { AddressInfo } from "node:net";
import { fastify, type FastifyError, type FastifyInstance } from "fastify";
import type { AssetOptions, AssetStore } from "../../ecosystems/agentspace/assets.ts";
import type { Engine } from "../../engine.ts";
import { describeExcess } from "../../json.ts";
import { MAX_LIMITS } from "../../limits.ts";
import { sendError, sendNotFound } from "./answers.ts";
import { addRoutes } from "./routes.ts";

export interface ServerOptions {
  /** The address to listen on. Default 127.0.0.1: callers are not authenticated. */
  readonly host?: string;
  /** Default 8080; 0 for any that is free. */
  readonly port?: number;
  /** The largest body. Default: the largest input that a tool may take, and 64 KiB for what is around it. */
  readonly bodyBytes?: number;
  /** How long calls in flight may go on when the server closes. Default 5,000. */
  readonly drainMs?: number;
  /** Where uploaded packages of AgentSpace's tools are kept. Default: nowhere, and there are no routes for them. */
  readonly assets?: ServedAssets;
}

/** Assets, and where clients find them. */
export interface ServedAssets extends AssetOptions {
  /** The address under which clients reach this server, for the addresses that it answers. Default: the one they used. */
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

/** Longer than a call may wait and run together: a connection on which nothing moves is not a dead one before that. */
const SILENCE_MS = MAX_LIMITS.queueMs + MAX_LIMITS.wallMs + 60_000;
const HEADERS_MS = 15_000;
const REQUEST_MS = 120_000;
/** Longer than the 60 seconds after which most load balancers give an idle connection up, so that they do so first. */
const KEEP_ALIVE_MS = 72_000;
/** Longer than any that fits into a request's first line: names that no tool can have are answered like unknown ones. */
const NAME_LENGTH_MAX = 65_536;

/**
 * Serves an engine over HTTP, and closes it when it is closed itself. Rejects where it cannot listen, and with a
 * `StoreError` where the folder of assets cannot be used.
 */
export async function createServer(engine: Engine, options: ServerOptions = {}): Promise<Server> {
  const { port = PORT_DEFAULT, bodyBytes = BODY_BYTES_DEFAULT, drainMs = DRAIN_DEFAULT_MS } = options;
  let isDraining = false;
  const app = createApp(bodyBytes);
  addRoutes(app, engine, () => isDraining);
  const assets = options.assets === undefined ? null : await openAssets(app, options.assets);
  try {
    await app.listen({ host: oneAddress(options.host ?? HOST_DEFAULT), port });
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

async function openAssets(app: FastifyInstance, { publicUrl, ...options }: ServedAssets): Promise<AssetStore> {
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

function createApp(bodyBytes: number): FastifyInstance {
  const app = fastify({
    bodyLimit: bodyBytes,
    connectionTimeout: SILENCE_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: { headersTimeout: HEADERS_MS },
    // Keys such as __proto__ are data like others: `JSON.parse` makes them a body's own, nothing here copies by
    // assignment, and on their way into the isolate they are text again.
    onProtoPoisoning: "ignore",
    onConstructorPoisoning: "ignore",
    // While the server closes, the engine says so itself, in the form of a result.
    return503OnClosing: false,
    routerOptions: { maxParamLength: NAME_LENGTH_MAX },
    frameworkErrors: (error, _request, reply) => void sendError(reply, error, bodyBytes),
  });
  // A body of nothing but brackets would hold this thread for seconds, and take thirty times its size.
  const readJson = app.getDefaultJsonParser("ignore", "ignore");
  app.addContentTypeParser<string>("application/json", { parseAs: "string" }, (request, body, done) => {
    if (describeExcess(body) === null) return void readJson(request, body, done);
    done(Object.assign(new Error("the body has too many values, or too deep ones"), { statusCode: 400 }));
  });
  // A page of another site may send text without asking, JSON it may not.
  app.removeContentTypeParser("text/plain");
  // Bodies that are sent to nowhere are not even read.
  app.addHook("onRequest", (request, reply, next) => {
    if (request.is404) sendNotFound(reply);
    else next();
  });
  app.setNotFoundHandler((_request, reply) => sendNotFound(reply));
  app.setErrorHandler((error: FastifyError, _request, reply) => sendError(reply, error, bodyBytes));
  return app;
}

/** The framework would open a second listener for the other address of this name, which close() could not empty. */
function oneAddress(host: string): string {
  return host === "localhost" ? HOST_DEFAULT : host;
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}
