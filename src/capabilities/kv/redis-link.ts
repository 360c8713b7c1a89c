import { setTimeout as delay } from "node:timers/promises";
import type { RedisConnection } from "../../redis/connection.ts";
import type { Script } from "../../redis/script.ts";
import { describeRedisFailure, describeUnreachable, isPassingInRedis, StoreError } from "./failure.ts";
import type { Asker } from "./kv-store.ts";

/** How long an answer is waited for. */
const WAIT_MS = 2_000;
const PAUSE_MS = 20;
/** Operations that may wait at once. */
const WAITING_MAX = 10_000;

const LATE = Symbol("late");

export interface RedisLinkOptions {
  /** Where Redis is. It may hold a password. */
  readonly url: string;
}

/**
 * Runs scripts in Redis, by a connection that is opened with the first of them. Nobody waits for longer than two seconds, and what
 * a lost connection did not answer is asked again until then but never later: whoever was told that it failed does not want it
 * done. So a script may run twice, and has to see to that itself.
 */
export class RedisLink {
  readonly #options: RedisLinkOptions;
  readonly #name: string;
  #opening: Promise<RedisConnection> | null = null;
  #connections = 0;
  #waiting = 0;
  #isClosed = false;

  /** `name` is what Redis shows of the connection. */
  constructor(options: RedisLinkOptions, name: string) {
    this.#options = options;
    this.#name = name;
  }

  /** How often it has come to have a connection: what is behind the last one may be another Redis than before. */
  get connections(): number {
    return this.#connections;
  }

  /** Rejects with a `StoreError` where Redis cannot do it, or not in time. All keys are of one slot. */
  async run(asker: Asker, script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (this.#waiting >= WAITING_MAX) throw new StoreError("too much waits for the store already");
    this.#waiting++;
    try {
      return await this.#persist(asker.signal, script, keys, args);
    } finally {
      this.#waiting--;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opening = this.#opening;
    this.#opening = null;
    await (await opening)?.close();
  }

  async #persist(
    signal: AbortSignal,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> {
    const untilMs = performance.now() + WAIT_MS;
    for (;;) {
      const connection = await this.#ready(untilMs - performance.now());
      if (signal.aborted) throw new StoreError("the call has ended");
      try {
        const answer = await beforeLong(untilMs - performance.now(), script.run(connection.client, keys, args));
        if (answer !== LATE) return answer;
        throw new StoreError("the store does not answer in time: what was asked may be done or not");
      } catch (error) {
        if (error instanceof StoreError) throw error;
        if (!isPassingInRedis(error) || performance.now() > untilMs) throw describeRedisFailure(error);
      }
      await delay(PAUSE_MS * Math.random());
    }
  }

  async #ready(leftMs: number): Promise<RedisConnection> {
    if (this.#isClosed) throw new StoreError("the engine has closed");
    this.#opening ??= this.#open();
    const connection = await this.#opening;
    if (connection.isReady || (await connection.ready(Math.max(leftMs, 0)))) return connection;
    throw this.#isClosed ? new StoreError("the engine has closed") : describeUnreachable(connection.failure);
  }

  async #open(): Promise<RedisConnection> {
    // It is loaded here because most engines do without it.
    const { RedisConnection: Connection } = await import("../../redis/connection.ts");
    const connection = Connection.open(this.#options.url, this.#name, { resends: false });
    connection.onReady(() => void this.#connections++);
    return connection;
  }
}

async function beforeLong<T>(ms: number, promise: Promise<T>): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, Math.max(ms, 0), LATE);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
