import { setTimeout as delay } from "node:timers/promises";
import { Cluster, type ClusterOptions, Redis } from "ioredis";
import { within } from "../../base/deadline.ts";
import { readRedisUrl, type RedisAddress } from "./url.ts";

export type RedisClient = Redis | Cluster;

const CONNECT_MS = 3_000;
/** A server that says nothing for so long while something is asked of it is gone, whatever its socket says. */
const SILENT_MS = 5_000;
const RETRY_LEAST_MS = 50;
const RETRY_MOST_MS = 1_000;
/** How long what waits is given to end, and then the socket. */
const CLOSE_MS = 1_000;
const SOCKET_CLOSE_MS = 500;
/** A cluster is asked for the key so often, and has so long to answer. */
const LOOK_EVERY_MS = 1_000;
const LOOK_MS = 2_500;
/** A command to a cluster goes to so many nodes one after another, with these pauses: about as long as a failover takes at most. */
const REDIRECTIONS = 1_000;
const REDIRECTION_PAUSE_MS = 100;
const MOVED_PAUSE_MS = 10;

const IN_CLUSTER = {
  clusterRetryStrategy: retryStrategy,
  slotsRefreshTimeout: CONNECT_MS,
  maxRedirections: REDIRECTIONS,
  retryDelayOnFailover: REDIRECTION_PAUSE_MS,
  retryDelayOnClusterDown: REDIRECTION_PAUSE_MS,
  retryDelayOnTryAgain: REDIRECTION_PAUSE_MS,
  retryDelayOnMoved: MOVED_PAUSE_MS,
  // Certificates are for names, so names go to the sockets as they are.
  dnsLookup: (host, done) => done(null, host),
} satisfies ClusterOptions;

export interface ConnectionOptions {
  /** Whether what a lost connection did not answer is sent again with the next one, or is rejected at once. Default: sent again. */
  readonly resends?: boolean;
  /** Of a cluster it is the node with this key that counts: one with the hash tag of those that are used. */
  readonly key?: string;
}

/**
 * A connection to Redis that reconnects. Requests during an outage wait for the next connection, so callers need their own
 * deadlines; `isReady` says whether a connection exists.
 */
export class RedisConnection implements AsyncDisposable {
  readonly #place: RedisAddress;
  readonly #name: string;
  readonly #options: ConnectionOptions;
  readonly #closed = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #listeners = new Set<() => void>();
  readonly client: RedisClient;
  #lostSinceMs: number | null = performance.now();
  #failure = "it has not been reached yet";

  private constructor(place: RedisAddress, name: string, options: ConnectionOptions) {
    this.#place = place;
    this.#name = name;
    this.#options = options;
    const client = connect(place, name, options);
    this.client = client;
    client.on("close", () => this.#lose());
    client.on("error", (error: unknown) => this.#note(error));
    if (client instanceof Cluster) void this.#watch(client);
    else client.on("ready", () => this.#find());
  }

  /** Begins to connect. `name` is what the server shows of it. Throws a `TypeError` where the URL is invalid. */
  static open(url: string, name: string, options: ConnectionOptions = {}): RedisConnection {
    return new RedisConnection(readRedisUrl(url), name, options);
  }

  /** Another connection to the same place, for commands that block. */
  another(name: string, options: ConnectionOptions = {}): RedisConnection {
    return new RedisConnection(this.#place, `${this.#name}:${name}`, { ...this.#options, ...options });
  }

  get isReady(): boolean {
    return this.#lostSinceMs === null;
  }

  /** For how long there has been none, in milliseconds; 0 while there is one. */
  get lostForMs(): number {
    return this.#lostSinceMs === null ? 0 : performance.now() - this.#lostSinceMs;
  }

  /** Reason for the outage: the code of an error, or the first word of a reply; never an address or a password. */
  get failure(): string {
    return this.#failure;
  }

  /** Resolves once there is one, or when `ms` are over; answers whether there is. */
  async ready(ms: number): Promise<boolean> {
    if (this.isReady) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    await within(ms, promise);
    this.#waiting.delete(resolve);
    return this.isReady;
  }

  /** Tells whenever there is a connection again. Answers how to end that. */
  onReady(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends it. What still waits for an answer is rejected. */
  async close(): Promise<void> {
    const { client } = this;
    this.#closed.abort();
    const ended = new Promise((resolve) => client.once("end", resolve));
    if (client.status === "ready")
      await within(
        CLOSE_MS,
        client.quit().catch(() => undefined),
      );
    if (client.status !== "end") {
      // Between two attempts there is no socket whose end would reject what waits, and a client that never began needs none.
      if (client.status === "reconnecting") client.status = "wait";
      client.disconnect();
      await within(CLOSE_MS, ended);
      rejectUnsent(client);
    }
    this.#lose();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The client of a cluster is ready as long as it reaches any node. Whether the one that counts answers, only asking it tells. */
  async #watch(cluster: Cluster): Promise<void> {
    const { signal } = this.#closed;
    // It says `close` for every node, also after its end, and what is asked of it then would wait for ever.
    cluster.on("close", () => {
      if (signal.aborted) cluster.status = "end";
    });
    cluster.on("node error", (error: unknown) => this.#note(error));
    while (!signal.aborted) {
      const askedMs = performance.now();
      const isThere = cluster.status === "ready" && (await this.#look(cluster));
      if (signal.aborted) return;
      if (!isThere) this.#lose(askedMs);
      else if (!this.isReady) this.#find();
      await delay(isThere ? LOOK_EVERY_MS : RETRY_LEAST_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #look(cluster: Cluster): Promise<boolean> {
    let answered = false;
    const asked = cluster.exists(this.#options.key ?? "{glovebox}").then(
      () => {
        answered = true;
      },
      (error: unknown) => this.#note(error),
    );
    await within(LOOK_MS, asked);
    return answered;
  }

  /** A refused password ends what waits with the error of the command that carried it: whoever gets that must not read it there. */
  #note(error: unknown): void {
    this.#failure = failureOf(error);
    if (error instanceof Error) Reflect.deleteProperty(error, "command");
  }

  #find(): void {
    this.#lostSinceMs = null;
    this.#failure = "it was closed";
    for (const resolve of this.#waiting) resolve();
    for (const listener of this.#listeners) listener();
  }

  #lose(sinceMs = performance.now()): void {
    this.#lostSinceMs ??= sinceMs;
  }
}

function connect(place: RedisAddress, connectionName: string, { resends = true }: ConnectionOptions): RedisClient {
  const options = {
    ...place.options,
    connectionName,
    connectTimeout: CONNECT_MS,
    disconnectTimeout: SOCKET_CLOSE_MS,
    sentinelCommandTimeout: CONNECT_MS,
    socketTimeout: SILENT_MS,
    keepAlive: CONNECT_MS,
    // What waits is resent when there is a connection again: its sender says when that is too late.
    maxRetriesPerRequest: resends ? null : 0,
    retryStrategy,
    // A master that has become a replica keeps its connections. What it refused is not sent again: it may be part of a transaction.
    reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
  };
  return place.kind === "cluster"
    ? new Cluster([...place.nodes], { ...IN_CLUSTER, redisOptions: options })
    : new Redis(options);
}

/**
 * What was under way when a connection went is kept apart, to be sent again. A client that ends after it has reached a server
 * once more that said nothing forgets about it, and its senders would wait for ever. It has no public name.
 */
function rejectUnsent(client: RedisClient): void {
  const kept: unknown = Reflect.get(client, "prevCommandQueue");
  if (!(kept instanceof Object && "toArray" in kept && typeof kept.toArray === "function")) return;
  const items = (kept as UnsentCommands).toArray();
  for (const { command } of items) command.reject(new Error("Connection is closed."));
}

interface UnsentCommands {
  toArray(): readonly { readonly command: { reject(error: Error): void } }[];
}

function retryStrategy(times: number): number {
  return Math.min(RETRY_LEAST_MS * 2 ** Math.min(times, 10), RETRY_MOST_MS);
}

/** Redis begins what it says with a code, the system has its own in the midst; sentinels' errors quote either. */
const CODE = /(?:^|: )(?<ofRedis>[A-Z]{3,})\b|\b(?<ofSystem>E[A-Z]{3,})\b/;
/** What the client says where it has forgotten why: of sentinels, and of a cluster's nodes. */
const CLOSED = /Connection is closed/;
const LATE = /time(?:d )?out/i;

/** What an error of the client comes to, in a word: a code of the system, of TLS or of Redis, never what its message tells. */
export function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return "UNKNOWN";
  if ("code" in error && typeof error.code === "string") return error.code;
  // A cluster's client tells of all nodes at once, and keeps the reason with it.
  if ("lastNodeError" in error && error.lastNodeError instanceof Error) return failureOf(error.lastNodeError);
  const { message } = error;
  const { ofRedis, ofSystem } = CODE.exec(message)?.groups ?? {};
  const code = ofRedis ?? ofSystem;
  if (code !== undefined) return code;
  if (LATE.test(message)) return "ETIMEDOUT";
  return CLOSED.test(message) ? "UNREACHABLE" : error.name;
}
