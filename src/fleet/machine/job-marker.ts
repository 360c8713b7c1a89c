import { setTimeout as delay } from "node:timers/promises";
import { answerOf } from "../../store/redis/reply.ts";
import type { RedisConnection } from "../../store/redis/connection.ts";

/** Extra time for the answer to a blocking read. */
const LATE_MS = 1_000;
const PAUSE_MS = 200;

/**
 * Waits for jobs: BullMQ marks in Redis that there may be some. Its worker would wait for the mark as well, but for ever where the node
 * of a cluster that has it is replaced meanwhile.
 */
export class JobMarker implements AsyncDisposable {
  readonly #connection: RedisConnection;
  readonly #key: string;
  /** Longest duration of one read. */
  readonly #blockMs: number;
  #closing: Promise<void> | null = null;

  /** A read that waits holds its connection, so that is one of its own. */
  constructor(connection: RedisConnection, key: string, blockMs: number) {
    this.#connection = connection.another("marker", { resends: false });
    this.#key = key;
    this.#blockMs = blockMs;
  }

  /** Resolves when there may be a job, and after a while in any case. Never rejects. */
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

  /** Ends what waits. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    this.#connection.client.disconnect();
    await this.#connection.close();
  }
}
