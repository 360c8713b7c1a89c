import { setTimeout as delay } from "node:timers/promises";
import { Cluster, type ClusterOptions, Redis } from "ioredis";
import { within } from "../../kernel/base/deadline.ts";
import type { RedisProblem } from "../../kernel/store/outage.ts";
import { problemOf, redisProblemOf, RedisRefusals } from "./problem.ts";
import { readRedisUrl, type RedisAddress } from "./url.ts";

export type RedisClient = Redis | Cluster;

const CONNECT_MS = 3_000;
/** Maximum silence of a server with pending requests, before it is considered lost even though its socket is open. */
const SILENT_MS = 5_000;
/** Length of an outage for which the client must have given a reason. */
const UNEXPLAINED_MS = 4_000;
const RETRY_LEAST_MS = 50;
const RETRY_MOST_MS = 1_000;
/** Maximum time for pending requests to end, and then for the socket to close. */
const CLOSE_MS = 1_000;
const SOCKET_CLOSE_MS = 500;
/** Interval of reads of the key in a cluster, and their timeout. */
const LOOK_EVERY_MS = 1_000;
const LOOK_MS = 2_500;
/** Maximum redirections of a command in a cluster, and the pauses between them: in total about the longest failover. */
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
  // Certificates are issued for names, so sockets get names and not addresses.
  dnsLookup: (host, done) => done(null, host),
} satisfies ClusterOptions;

export interface ConnectionOptions {
  /** Whether requests without a reply are sent again after a reconnect, or rejected at once. Default: sent again. */
  readonly resends?: boolean;
  /** Key whose node decides whether a cluster is ready: one with the hash tag of the keys in use. */
  readonly key?: string;
}

/** A caller that waits for a connection. */
interface Waiter {
  readonly resolve: () => void;
  /** Whether it gives up at a problem that trying again does not solve. */
  readonly isBrief: boolean;
}

/**
 * A connection to Redis that reconnects. Requests during an outage wait for the next connection, so callers need their
 * own deadlines; `isReady` shows whether a connection exists.
 */
export class RedisConnection implements AsyncDisposable {
  readonly #place: RedisAddress;
  readonly #name: string;
  readonly #options: ConnectionOptions;
  readonly #closed = new AbortController();
  readonly #waiting = new Set<Waiter>();
  /** Shared with the connections made by `another`. */
  readonly #refusals: RedisRefusals;
  readonly #listeners = new Set<() => void>();
  readonly client: RedisClient;
  #lostSinceMs: number | null = performance.now();
  /** Of the outage; `null` before the first failure. */
  #loss: RedisProblem | null = null;
  #wasReady = false;

  private constructor(place: RedisAddress, name: string, options: ConnectionOptions, refusals = new RedisRefusals()) {
    this.#refusals = refusals;
    this.#place = place;
    this.#name = name;
    this.#options = options;
    const client = connect(place, name, options, refusals);
    this.client = client;
    client.on("close", () => this.#lose());
    client.on("error", (error: unknown) => this.#note(error));
    // The client opens the socket after this event.
    client.on("connecting", () => setImmediate(() => hearErrors(client)));
    if (client instanceof Cluster) void this.#watch(client);
    else client.on("ready", () => this.#find());
  }

  /** Begins to connect. `name` is the connection's name on the server. Throws a `TypeError` if the URL is invalid. */
  static open(url: string, name: string, options: ConnectionOptions = {}): RedisConnection {
    return new RedisConnection(readRedisUrl(url), name, options);
  }

  /** Another connection to the same address, for commands that block. */
  another(name: string, options: ConnectionOptions = {}): RedisConnection {
    return new RedisConnection(this.#place, `${this.#name}:${name}`, { ...this.#options, ...options }, this.#refusals);
  }

  get isReady(): boolean {
    return this.#lostSinceMs === null;
  }

  /** Duration of the outage in milliseconds; 0 while connected. */
  get lostForMs(): number {
    return this.#lostSinceMs === null ? 0 : performance.now() - this.#lostSinceMs;
  }

  /** Reason for the outage: the code of an error, or the first word of a reply; never an address or a password. */
  get failure(): string {
    return this.#loss?.code ?? (this.#wasReady ? "it was closed" : "it has not been reached yet");
  }

  /** The reason for the outage, or for refusals while connected; `null` if none is known. */
  get problem(): RedisProblem | null {
    if (this.isReady) return this.#refusals.problem;
    return this.#loss ?? this.#refusals.problem ?? (this.lostForMs > UNEXPLAINED_MS ? problemOf("UNREACHABLE") : null);
  }

  /** Reports that Redis has written a key: a reason that refused all writes is then over. */
  noteWritten(): void {
    this.#refusals.noteWritten();
  }

  /**
   * Subscribes to a channel, again after each loss. `onHeard`: called after each subscription. An ACL's refusal is
   * noted like others.
   */
  subscribe(channel: string, listener: (message: string) => void, onHeard: () => void = ignore): void {
    const { client } = this;
    client.on("message", (_channel: string, message: string) => listener(message));
    const subscribe = (): void => void client.subscribe(channel).then(onHeard, ignore);
    // A cluster's client does so itself from then on.
    if (client instanceof Redis) client.on("ready", subscribe);
    if (!(client instanceof Redis) || client.status === "ready") subscribe();
  }

  /** Resolves when connected, after `ms`, or when the signal is aborted; returns whether a connection exists. */
  ready(ms: number, signal?: AbortSignal): Promise<boolean> {
    return this.#wait(ms, false, signal);
  }

  /** Like `ready`, but also resolves at a problem that a retry does not solve. */
  reached(ms: number): Promise<boolean> {
    return this.#loss?.isLasting === true ? Promise.resolve(this.isReady) : this.#wait(ms, true);
  }

  /** Calls the listener after each connect. Returns a function that removes it. */
  onReady(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Closes the connection. Rejects pending requests. */
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
      // Between two attempts no socket exists whose close would reject pending requests; in status `wait` the client
      // rejects them itself.
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

  /**
   * Polls a cluster: its client is ready while any node is reachable, and only a read shows whether the node of the key
   * replies.
   */
  async #watch(cluster: Cluster): Promise<void> {
    const { signal } = this.#closed;
    // The client emits `close` for every node, also after its end, and later requests would then never end.
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

  async #wait(ms: number, isBrief: boolean, signal?: AbortSignal): Promise<boolean> {
    if (this.isReady || signal?.aborted === true) return this.isReady;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter: Waiter = { resolve, isBrief };
    this.#waiting.add(waiter);
    const giveUp = (): void => resolve();
    signal?.addEventListener("abort", giveUp);
    await within(ms, promise);
    signal?.removeEventListener("abort", giveUp);
    this.#waiting.delete(waiter);
    return this.isReady;
  }

  /**
   * Removes the command from the error: a refused password rejects pending requests with the error of the command that
   * carried it.
   */
  #note(error: unknown): void {
    const problem = redisProblemOf(error);
    this.#loss = problem;
    if (error instanceof Error) Reflect.deleteProperty(error, "command");
    const { client } = this;
    // If the client cannot select the database of the URL, it continues with database 0, which may belong to others.
    hearErrors(client);
    const isReply = error instanceof Error && error.name === "ReplyError";
    if (isReply && client instanceof Redis && client.status === "connect") client.disconnect(true);
    if (problem.isLasting) for (const { resolve, isBrief } of this.#waiting) if (isBrief) resolve();
  }

  #find(): void {
    this.#lostSinceMs = null;
    this.#loss = null;
    this.#wasReady = true;
    for (const { resolve } of this.#waiting) resolve();
    for (const listener of this.#listeners) listener();
  }

  #lose(sinceMs = performance.now()): void {
    this.#lostSinceMs ??= sinceMs;
  }
}

function connect(
  place: RedisAddress,
  connectionName: string,
  { resends = true }: ConnectionOptions,
  refusals: RedisRefusals,
): RedisClient {
  const options = {
    ...place.options,
    connectionName,
    // A refusal of an automatic subscription would be an unhandled rejection, and end the process.
    autoResubscribe: false,
    connectTimeout: CONNECT_MS,
    disconnectTimeout: SOCKET_CLOSE_MS,
    sentinelCommandTimeout: CONNECT_MS,
    socketTimeout: SILENT_MS,
    keepAlive: CONNECT_MS,
    // Pending requests are resent after a reconnect; their senders have deadlines.
    maxRetriesPerRequest: resends ? null : 0,
    retryStrategy,
    // The client calls this for every error reply. A master that becomes a replica keeps its connections. The refused
    // command is not resent: it may be part of a transaction.
    reconnectOnError: (error: Error) => {
      refusals.note(error);
      return error.message.startsWith("READONLY");
    },
  };
  return place.kind === "cluster"
    ? new Cluster([...place.nodes], { ...IN_CLUSTER, redisOptions: options })
    : new Redis(options);
}

/** Listens to errors of the sockets: TLS may report a second one, to which the client listens no more. */
function hearErrors(client: RedisClient): void {
  for (const { stream } of client instanceof Redis ? [client] : client.nodes()) {
    if (stream?.listeners("error").includes(ignore) === false) stream.on("error", ignore);
  }
}

function ignore(): void {
  // The client has reported the first error.
}

/**
 * Rejects commands that ioredis kept for resending. A client that ends after it reached a server that never replied
 * forgets them, and their senders would wait without end. The queue has no public name.
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
