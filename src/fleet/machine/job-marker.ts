import { setTimeout as delay } from "node:timers/promises";
import { answerOf } from "../redis/reply.ts";
import type { RedisConnection } from "../redis/connection.ts";

/** Extra time for the reply to a blocking read. */
const LATE_MS = 1_000;
const PAUSE_MS = 200;

/**
 * Waits for BullMQ's marker key, which signals that jobs may exist. BullMQ's own worker would wait for it too, but
 * without end if the node of a cluster that owns it is replaced meanwhile.
 */
export class JobMarker implements AsyncDisposable {
  readonly #connection: RedisConnection;
  readonly #key: string;
  /** Longest duration of one read, in milliseconds. */
  readonly #blockMs: number;
  #closing: Promise<void> | null = null;

  /** A blocking read occupies its connection, so it has its own. */
  constructor(connection: RedisConnection, key: string, blockMs: number) {
    this.#connection = connection.another("marker", { resends: false });
    this.#key = key;
    this.#blockMs = blockMs;
  }

  /** Resolves when jobs may exist, or after a while. Never rejects. */
  async wait(): Promise<void> {
    if (this.#closing !== null || !(await this.#connection.ready(this.#blockMs))) return;
    const answer = await answerOf(
      this.#connection,
      (client) => client.bzpopmin(this.#key, this.#blockMs / 1_000),
      this.#blockMs + LATE_MS,
    );
    // A refusal comes at once, so pause before the next read.
    if (answer === undefined && this.#closing === null) await delay(PAUSE_MS);
  }

  /** Ends the current read. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    this.#connection.client.disconnect();
    await this.#connection.close();
  }
}
