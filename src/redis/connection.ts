import { Cluster, Redis } from "ioredis";
import { within } from "../deadline.ts";
import { type RedisPlace, readRedisUrl } from "./place.ts";
import { replyOf } from "./reply.ts";

export type RedisClient = Redis | Cluster;

const CONNECT_MS = 3_000;
/** A server that says nothing for so long while something is asked of it is gone, whatever its socket says. */
const SILENT_MS = 8_000;
const RETRY_LEAST_MS = 50;
const RETRY_MOST_MS = 1_000;
const CLOSE_MS = 1_000;

export interface ConnectionOptions {
  /** Whether what a lost connection did not answer is sent again with the next one, or is rejected at once. Default: sent again. */
  readonly resends?: boolean;
}

/**
 * A connection to Redis that mends itself. What is asked while there is none waits for the next one, so whoever asks needs a
 * deadline of its own; `isReady` says whether it is worth asking at all.
 */
export class RedisConnection implements AsyncDisposable {
  readonly #place: RedisPlace;
  readonly #name: string;
  readonly #options: ConnectionOptions;
  readonly client: RedisClient;
  #lostSinceMs: number | null = performance.now();
  #failure = "it has not been reached yet";

  private constructor(place: RedisPlace, name: string, options: ConnectionOptions) {
    this.#place = place;
    this.#name = name;
    this.#options = options;
    this.client = connect(place, name, options);
    this.client.on("ready", () => {
      this.#lostSinceMs = null;
    });
    this.client.on("close", () => {
      this.#lostSinceMs ??= performance.now();
    });
    this.client.on("error", (error: Error & { readonly code?: unknown }) => {
      this.#failure = typeof error.code === "string" ? error.code : (replyOf(error) ?? error.name);
    });
  }

  /** Begins to connect. `name` is what the server shows of it. Throws a `TypeError` where the URL is none. */
  static open(url: string, name: string, options: ConnectionOptions = {}): RedisConnection {
    return new RedisConnection(readRedisUrl(url), name, options);
  }

  /** Another connection to the same place, for commands that block. */
  another(name: string): RedisConnection {
    return new RedisConnection(this.#place, `${this.#name}:${name}`, this.#options);
  }

  get isReady(): boolean {
    return this.#lostSinceMs === null;
  }

  /** For how long there has been none, in milliseconds; 0 while there is one. */
  get lostForMs(): number {
    return this.#lostSinceMs === null ? 0 : performance.now() - this.#lostSinceMs;
  }

  /** Why there is none: the code of an error, or the first word of a reply, and nothing of addresses or passwords. */
  get failure(): string {
    return this.#failure;
  }

  /** Resolves once there is one, or when `ms` are over; answers whether there is. */
  async ready(ms: number): Promise<boolean> {
    if (!this.isReady) await within(ms, new Promise((resolve) => this.client.once("ready", resolve)));
    return this.isReady;
  }

  /** Ends it. What still waits for an answer is rejected. */
  async close(): Promise<void> {
    if (this.isReady)
      await within(
        CLOSE_MS,
        this.client.quit().catch(() => undefined),
      );
    this.client.disconnect();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function connect(place: RedisPlace, connectionName: string, { resends = true }: ConnectionOptions): RedisClient {
  const options = {
    ...place.options,
    connectionName,
    connectTimeout: CONNECT_MS,
    socketTimeout: SILENT_MS,
    keepAlive: CONNECT_MS,
    // What waits is resent when there is a connection again: its sender says when that is too late.
    maxRetriesPerRequest: resends ? null : 0,
    retryStrategy,
  };
  if (place.kind !== "cluster") return new Redis(options);
  return new Cluster([...place.nodes], {
    redisOptions: options,
    clusterRetryStrategy: retryStrategy,
    slotsRefreshTimeout: CONNECT_MS,
  });
}

function retryStrategy(times: number): number {
  return Math.min(RETRY_LEAST_MS * 2 ** Math.min(times, 10), RETRY_MOST_MS);
}
