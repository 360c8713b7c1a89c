import { StoreError } from "../capabilities/kv/failure.ts";
import type { RedisConnection } from "../redis/connection.ts";
import { replyOf } from "../redis/reply.ts";
import type { RedisScript } from "./redis-scripts.ts";

const DEADLINE_MS = 2_000;
/** How long a connection is waited for: what is sent afterwards still has some time. */
const READY_MS = 1_500;
/** What may wait for Redis at once, and what a script takes besides its arguments. */
const WAITING_MAX_BYTES = 64 * 1024 * 1024;
const SCRIPT_BYTES = 1_024;

/** What a script is worth where there is no connection. */
export type Urgency =
  /** It is to be done now or not at all. */
  | "now"
  /** It may wait for the next connection, though its sender does not. */
  | "later";

/** A script was sent, or waits to be, and nobody knows whether it was run. */
export class LateError extends StoreError {}

/** Runs scripts in Redis, each with a deadline. Everything rejects with a `StoreError`, which names no address. */
export class RedisRunner {
  readonly #connection: RedisConnection;
  #waitingBytes = 0;
  #readying: Promise<boolean> | null = null;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  async run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    urgency: Urgency,
  ): Promise<unknown> {
    const bytes = args.reduce<number>((sum, each) => sum + String(each).length, SCRIPT_BYTES);
    if (this.#waitingBytes + bytes > WAITING_MAX_BYTES) throw new StoreError("too much waits for the store already");
    this.#waitingBytes += bytes;
    const late = new AbortController();
    const { promise: lateness, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      late.abort();
      reject(new LateError("the store does not answer: try again later"));
    }, DEADLINE_MS);
    const running = this.#send(script, [...keys, ...args], keys.length, urgency, late.signal).finally(() => {
      this.#waitingBytes -= bytes;
    });
    try {
      return await Promise.race([running, lateness]);
    } catch (error) {
      throw error instanceof StoreError ? error : new StoreError(`the store ${wordsOf(error)}`);
    } finally {
      clearTimeout(timer);
    }
  }

  async #send(
    { sha, lua }: RedisScript,
    all: readonly (string | number)[],
    keys: number,
    urgency: Urgency,
    late: AbortSignal,
  ): Promise<unknown> {
    if (urgency === "now" && !(await this.#isReady()))
      throw new StoreError(`the store cannot be reached (${this.#connection.failure}): try again later`);
    const { client } = this.#connection;
    try {
      return await client.evalsha(sha, keys, ...all);
    } catch (error) {
      // A server that has started anew knows no scripts.
      if (replyOf(error) !== "NOSCRIPT" || (urgency === "now" && late.aborted)) throw error;
      return await client.eval(lua, keys, ...all);
    }
  }

  /** All who ask while there is no connection wait for the same one. */
  #isReady(): Promise<boolean> | true {
    if (this.#connection.isReady) return true;
    this.#readying ??= this.#connection.ready(READY_MS).finally(() => {
      this.#readying = null;
    });
    return this.#readying;
  }
}

function wordsOf(error: unknown): string {
  const code = replyOf(error);
  switch (code) {
    case undefined:
      return "cannot be reached: try again later";
    case "OOM":
      return "has no room left, for anybody: Redis has reached its maxmemory";
    case "NOAUTH":
    case "WRONGPASS":
    case "NOPERM":
      return "does not let the engine in: look at the user and the password of its URL";
    default:
      return `failed with Redis's code ${code}`;
  }
}
