import { inTime } from "../../base/deadline.ts";
import type { RedisConnection } from "../../store/redis/connection.ts";
import { replyOf, wordsOfLoss, wordsOfReply } from "../../store/redis/reply.ts";
import { TextFailure } from "./text-failure.ts";
import { oversized, type TextPlace } from "./text-place.ts";

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
    if (!(await this.#connection.ready(this.#waitMs))) throw unreachable(wordsOfLoss(this.#connection.failure));
    try {
      const late = () => unreachable("does not answer in time");
      return await inTime(this.#waitMs, ask(this.#connection.client), late);
    } catch (error) {
      if (error instanceof TextFailure) throw error;
      const reply = replyOf(error);
      throw unreachable(reply === undefined ? wordsOfLoss(this.#connection.failure) : wordsOfReply(reply));
    }
  }
}

function unreachable(words: string): TextFailure {
  return new TextFailure("unreachable", `Redis ${words}`);
}
