import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { inTime } from "../../kernel/base/deadline.ts";
import { StoreError } from "../../kernel/base/errors.ts";
import type { RedisClient, RedisConnection } from "./connection.ts";
import { isPassing, replyOf, wordsOfLoss, wordsOfReply } from "./reply.ts";

/**
 * A Lua script, which Redis runs atomically. Its text is sent until a connection has had a reply, and after that its
 * hash. So scripts run in the order in which they are sent, except after a restart of Redis.
 */
export class Script {
  readonly #text: string;
  readonly #sha: string;
  readonly #knownTo = new WeakSet<RedisClient>();

  constructor(text: string) {
    this.#text = text;
    this.#sha = createHash("sha1").update(text).digest("hex");
  }

  /**
   * Has no deadline: see `ScriptRunner`. After `late` is aborted, a script that is missing in Redis is not sent again.
   */
  async run(
    client: RedisClient,
    keys: readonly string[],
    args: readonly (string | number)[],
    late?: AbortSignal,
  ): Promise<unknown> {
    if (!this.#knownTo.has(client)) {
      const answer = await client.eval(this.#text, keys.length, ...keys, ...args);
      this.#knownTo.add(client);
      return answer;
    }
    try {
      return await client.evalsha(this.#sha, keys.length, ...keys, ...args);
    } catch (error) {
      // A restarted Redis, or another node of a cluster, lacks the script.
      if (replyOf(error) !== "NOSCRIPT" || late?.aborted === true) throw error;
      return client.eval(this.#text, keys.length, ...keys, ...args);
    }
  }
}

/** Timeout of a script. */
const DEADLINE_MS = 2_000;
/** Timeout of the wait for a connection: shorter, to leave time for the script. */
const READY_MS = 1_500;
const PAUSE_MS = 20;
/** Maximum bytes of pending scripts, and the overhead of one besides its arguments. */
const WAITING_MAX_BYTES = 64 * 1024 * 1024;
const SCRIPT_BYTES = 1_024;

/** Handling of a script without a connection, or when the connection is lost. */
export type Urgency =
  /** Fails without a connection. */
  | "now"
  /** Like `now`, but is sent again after the connection was lost: the script is idempotent. */
  | "again"
  /** May be sent over the next connection, after its sender has given up. */
  | "later";

/** A script was or may yet be sent, and it is unknown whether it has run. */
export class LateError extends StoreError {}

/** Redis has refused a script: `reply` is the first word of its error. */
export class RefusedError extends StoreError {
  readonly reply: string;

  constructor(reply: string) {
    super(`the store ${wordsOfReply(reply)}`);
    this.reply = reply;
  }
}

/** A script with its keys and arguments. All keys have one hash slot. */
interface ScriptRun {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  readonly urgency: Urgency;
  /** Signal of the requester; an aborted request is not sent. */
  readonly signal?: AbortSignal;
}

/**
 * Runs scripts for a store in Redis, each with a deadline. Retries temporary errors until then. Rejects with a
 * `StoreError`.
 */
export class ScriptRunner {
  readonly #connection: RedisConnection;
  #waitingBytes = 0;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  async run(run: ScriptRun): Promise<unknown> {
    const bytes = run.args.reduce<number>((sum, each) => sum + String(each).length, SCRIPT_BYTES);
    if (this.#waitingBytes + bytes > WAITING_MAX_BYTES) throw new StoreError("too many operations wait for the store");
    this.#waitingBytes += bytes;
    const late = new AbortController();
    const running = this.#persist(run, late.signal).finally(() => {
      this.#waitingBytes -= bytes;
    });
    return inTime(DEADLINE_MS, running, () => {
      late.abort();
      return new LateError("the store did not respond in time: the operation may have been carried out or not");
    });
  }

  async #persist(run: ScriptRun, late: AbortSignal): Promise<unknown> {
    const beganMs = performance.now();
    const isLater = run.urgency === "later";
    for (;;) {
      if (!isLater && !(await this.#isReady(beganMs + READY_MS))) throw this.#failure(undefined);
      if (run.signal?.aborted === true) throw new StoreError("the call has ended");
      try {
        return await run.script.run(this.#connection.client, run.keys, run.args, isLater ? undefined : late);
      } catch (error) {
        const reply = replyOf(error);
        const mayPass = reply === undefined ? run.urgency === "again" : isPassing(reply);
        if (!mayPass || performance.now() + PAUSE_MS > beganMs + DEADLINE_MS) throw this.#failure(reply);
      }
      await delay(PAUSE_MS * Math.random());
    }
  }

  async #isReady(untilMs: number): Promise<boolean> {
    return this.#connection.isReady || this.#connection.ready(Math.max(untilMs - performance.now(), 0));
  }

  /** The client's error contains the command with its values, so only its code is passed on. */
  #failure(reply: string | undefined): StoreError {
    if (reply !== undefined) return new RefusedError(reply);
    return new StoreError(`the store ${wordsOfLoss(this.#connection)}`);
  }
}
