import type { RedisConnection } from "../../redis/connection.ts";
import { TextFailure } from "./text-failure.ts";
import { inTime, oversized, type TextPlace } from "./text-place.ts";

export interface RedisTextsOptions {
  /** For how long a text stays when nobody publishes it again. */
  readonly ttlMs: number;
  /** Longest wait for Redis. */
  readonly waitMs: number;
}

/** Texts in Redis itself: where all of them are that are not too large for it. */
export class RedisTexts implements TextPlace {
  readonly #connection: RedisConnection;
  readonly #ttlMs: number;
  readonly #waitMs: number;

  constructor(connection: RedisConnection, { ttlMs, waitMs }: RedisTextsOptions) {
    this.#connection = connection;
    this.#ttlMs = ttlMs;
    this.#waitMs = waitMs;
  }

  async keep(key: string): Promise<boolean> {
    return (await this.#ask((client) => client.pexpire(key, this.#ttlMs))) === 1;
  }

  async put(key: string, stored: string): Promise<void> {
    await this.#ask((client) => client.set(key, stored, "PX", this.#ttlMs));
  }

  async get(key: string, bytesMax: number): Promise<string | null> {
    // Whatever lies there, no more than this is sent: one byte beyond what there may be shows that it is more.
    const stored = await this.#ask((client) => client.getrangeBuffer(key, 0, bytesMax));
    if (stored.length > bytesMax) throw oversized();
    return stored.length === 0 ? null : stored.toString();
  }

  async #ask<Answer>(ask: (client: RedisConnection["client"]) => Promise<Answer>): Promise<Answer> {
    // What is sent while there is no connection waits in memory for the next one, and a text may be large.
    if (!(await this.#connection.ready(this.#waitMs)))
      throw new TextFailure("unreachable", `Redis cannot be reached (${this.#connection.failure})`);
    try {
      return await inTime(this.#waitMs, ask(this.#connection.client), "Redis does not answer in time");
    } catch (error) {
      throw error instanceof TextFailure ? error : new TextFailure("unreachable", wordsOf(error));
    }
  }
}

/** Of an error of Redis only the code that it begins with: what follows may be an address. */
function wordsOf(error: unknown): string {
  const code = error instanceof Error ? /^[A-Z]{2,32}(?= )/.exec(error.message)?.[0] : undefined;
  if (code === "OOM") return "Redis has no memory left for the tool's code";
  return code === undefined ? "the connection to Redis was lost" : `Redis refuses with ${code}`;
}
