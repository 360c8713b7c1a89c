import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { Engine } from "../../kernel/engine/engine.ts";
import { ScopedEngine } from "../access/scoped-engine.ts";
import type { Caller as InnerCaller } from "../access/caller.ts";
import { Guests } from "../access/guests.ts";
import type { Registry } from "../../contrib/agentspace/registry.ts";
import { AgentSpaceStores } from "../http/agentspace-stores.ts";
import type { Access } from "../http/access.ts";
import { createApp, type Mount } from "../http/app.ts";
import { abandonCalls } from "../http/disconnection.ts";
import { DRAIN_DEFAULT_MS, LAST_ANSWERS_MS } from "../http/drain.ts";
import type { ParsedBody } from "../http/json-body.ts";
import { OriginCheck } from "../http/origin-check.ts";
import { addRoutes } from "../http/routes.ts";
import { Traffic } from "../http/traffic.ts";
import { walkBody } from "./parsed-body.ts";
import type { HandlerOptions, Mounted, Settings } from "./options.ts";

/** Any address of this machine may be a host's name: an IP address cannot be rebound. */
const ANY_ADDRESS = "0.0.0.0";
const UNANSWERED = JSON.stringify({ error: "the request could not be answered" });

/** One request, as it came to a handler. */
export interface Exchange<Incoming> {
  /** Argument of the application's `authenticate`. */
  readonly incoming: () => Incoming;
  /** The path and the query, without the path of the mount. */
  readonly url: string;
  readonly basePath: string;
  /** The body, as another parser has read it. */
  readonly body?: unknown;
  /** Whether another parser has read the body. */
  readonly isRead?: boolean;
  /** Takes a request that has no route here. */
  readonly next?: () => void;
}

/**
 * The routes of an engine without a listener: the same app as that of `createServer`, so that all answers are the same.
 * It receives requests one by one.
 */
export class MountedApp<Incoming> implements Mounted {
  readonly #exchanges = new WeakMap<IncomingMessage, Exchange<Incoming>>();
  readonly #parsed = new WeakMap<IncomingMessage, ParsedBody>();
  /** Requests without a route here. */
  readonly #passedOn = new WeakSet<IncomingMessage>();
  readonly #inProgress = new Set<ServerResponse>();
  readonly #endings: (() => void)[] = [];
  readonly #urls = new Set<string>();
  readonly #guests = new Guests();
  readonly #settings: Settings<Incoming>;
  readonly #opening: Promise<FastifyInstance>;
  #app: FastifyInstance | null = null;
  /** The engine's check whether keys are still valid. */
  #asked: Disposable | null = null;
  #isDraining = false;
  #isWarned = false;
  #idle: (() => void) | null = null;

  constructor(engine: Engine, settings: Settings<Incoming>) {
    this.#settings = settings;
    this.#opening = this.#open(engine);
    // Each request reports the error, and the first one warns.
    this.#opening.catch((error: unknown) => this.#warn(error));
  }

  /** Answers a request, now or later. */
  answer(exchange: Exchange<Incoming>, request: IncomingMessage, response: ServerResponse): void {
    this.#exchanges.set(request, exchange);
    if (this.#app !== null) return this.#route(this.#app, exchange, request, response);
    this.#opening.then(
      (app) => this.#route(app, exchange, request, response),
      () => response.writeHead(500, { "content-type": "application/json; charset=utf-8" }).end(UNANSWERED),
    );
  }

  /** Addresses of the routes, in the router's format. */
  async urls(): Promise<readonly string[]> {
    await this.#opening;
    return [...this.#urls];
  }

  async drain({ drainMs = DRAIN_DEFAULT_MS }: { readonly drainMs?: number } = {}): Promise<void> {
    this.#isDraining = true;
    for (const end of this.#endings) end();
    await this.#untilIdle(drainMs);
    for (const { req } of this.#inProgress) abandonCalls(req.socket);
    await this.#untilIdle(LAST_ANSWERS_MS);
    for (const response of this.#inProgress) response.destroy();
  }

  /** Drains at once, and ends all sessions. Requests that come later are not answered. */
  async close(): Promise<void> {
    await this.drain({ drainMs: 0 });
    await (await this.#opening).close();
    this.#asked?.[Symbol.dispose]();
  }

  /**
   * The app routes by a request's URL, and reads it at once: afterwards the URL can be the server's rewritten one
   * again.
   */
  #route(app: FastifyInstance, exchange: Exchange<Incoming>, request: IncomingMessage, response: ServerResponse): void {
    const { url } = request;
    this.#inProgress.add(response);
    response.once("close", () => this.#leave(response));
    request.url = exchange.url;
    app.routing(request, response);
    if (url !== undefined) request.url = url;
    if (!this.#passedOn.has(request)) return;
    this.#leave(response);
    exchange.next?.();
  }

  #leave(response: ServerResponse): void {
    this.#inProgress.delete(response);
    if (this.#inProgress.size === 0) this.#idle?.();
  }

  async #untilIdle(forMs: number): Promise<void> {
    if (this.#inProgress.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = new AbortController();
    this.#idle = resolve;
    await Promise.race([promise, delay(forMs, undefined, { signal: over.signal }).catch(() => undefined)]);
    over.abort();
  }

  #accessOf(engine: Engine, registry: Registry | null): Access {
    const { keys, options } = this.#settings;
    const { authenticate, origins = [], hosts } = options;
    const sites = hosts === undefined ? { origins } : { origins, hosts };
    const originCheck = new OriginCheck(sites, { host: ANY_ADDRESS, hasKeys: hosts === undefined });
    const gate = new ScopedEngine(engine, keys, registry);
    this.#asked = engine.calls.readmitWith(gate.readmit);
    const access = { engine, gate, keys, isAdminOpen: false, originCheck };
    if (authenticate === undefined) return access;
    return { ...access, authenticate: (request) => this.#callerOf(request, authenticate) };
  }

  async #callerOf(
    request: IncomingMessage,
    authenticate: NonNullable<HandlerOptions<Incoming>["authenticate"]>,
  ): Promise<InnerCaller | null> {
    const exchange = this.#exchanges.get(request);
    if (exchange === undefined) return null;
    try {
      const caller = await authenticate(exchange.incoming());
      return caller === null || caller === undefined ? null : this.#guests.admit(caller);
    } catch (error) {
      this.#warn(error);
      throw new Error("authenticate has failed");
    }
  }

  /** Warns the application once of a mistake that only its own code can correct; each request would repeat it. */
  #warn(error: unknown): void {
    if (this.#isWarned) return;
    this.#isWarned = true;
    process.emitWarning(error instanceof Error ? error : String(error));
  }

  async #open(engine: Engine): Promise<FastifyInstance> {
    const { routes, bodyBytes, bodiesBytes, options } = this.#settings;
    const { assets, agentspace } = options;
    const stores = await AgentSpaceStores.open(engine, {
      ...(routes.has("assets") && assets !== undefined ? { assets } : {}),
      ...(agentspace === undefined ? {} : { agentspace }),
    });
    // The engine is closing already; `close` only waits for it.
    engine.on("engine:close", () =>
      queueMicrotask(() => void engine.close().then(() => stores[Symbol.asyncDispose]())),
    );
    const access = this.#accessOf(engine, stores.registry);
    const traffic = Traffic.of(engine.registry);
    const app = await createApp(bodyBytes, access, { bodiesBytes, traffic, mount: this.#mount() });
    app.addHook("onRoute", ({ url }) => void this.#urls.add(url));
    const surface = {
      engine,
      gate: access.gate,
      isDraining: () => this.#isDraining,
      onDrain: (end: () => void) => void this.#endings.push(end),
      basePathOf: ({ raw }: { readonly raw: IncomingMessage }) => this.#exchanges.get(raw)?.basePath ?? "",
    };
    const { batchCalls } = options;
    addRoutes(app, { ...surface, ...stores.surface(), ...(batchCalls === undefined ? {} : { batchCalls }) }, routes);
    await stores.addAssets(app);
    await app.ready();
    this.#app = app;
    return app;
  }

  #mount(): Mount {
    return {
      passOn: (request) => {
        if (this.#exchanges.get(request)?.next === undefined) return false;
        this.#passedOn.add(request);
        return true;
      },
      parsedBodyOf: ({ raw }) => this.#parsed.get(raw) ?? null,
      addTo: (app) => {
        app.addHook("preParsing", async (request, _reply, payload) => {
          const exchange = this.#exchanges.get(request.raw);
          if (exchange?.isRead !== true) return payload;
          return this.#replay(request.raw, exchange.body);
        });
      },
    };
  }

  /** Replaces a body that another parser has read: its bytes, or an empty stream with the value beside it. */
  async #replay(request: IncomingMessage, body: unknown): Promise<Readable> {
    const { "content-length": said } = request.headers;
    const { bodyBytes } = this.#settings;
    if (Number(said ?? 0) > bodyBytes) throw refusal(413, "FST_ERR_CTP_BODY_TOO_LARGE");
    const isText = typeof body === "string" || body instanceof Uint8Array;
    if (!isText && body !== undefined) {
      const verdict = await walkBody(body, bodyBytes);
      if (verdict === "too large") throw refusal(413, "FST_ERR_CTP_BODY_TOO_LARGE");
      if (verdict === "excessive") throw refusal(400, "");
      this.#parsed.set(request, { value: body });
    }
    const stream = Readable.from(isText ? [Buffer.from(body as string)] : [], { objectMode: false });
    // The framework compares this with the header.
    return Object.assign(stream, { receivedEncodedLength: body === undefined ? 0 : Number(said ?? 0) });
  }
}

function refusal(statusCode: number, code: string): Error {
  return Object.assign(new Error("the body is refused"), { statusCode, code });
}
