import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { inTime } from "../../base/deadline.ts";
import { StoreError } from "../../base/errors.ts";
import type { RedisClient, RedisConnection } from "./connection.ts";
import { isPassing, replyOf, wordsOfLoss, wordsOfReply } from "./reply.ts";

/**
 * A Lua script that Redis runs as one step. Its text crosses until a connection has had an answer; after that its hash names it. So
 * what is asked in an order is done in that order, but for what follows a restart of Redis.
 */
export class Script {
  readonly #text: string;
  readonly #sha: string;
  readonly #knownTo = new WeakSet<RedisClient>();

  constructor(text: string) {
    this.#text = text;
    this.#sha = createHash("sha1").update(text).digest("hex");
  }

  /** Has no deadline: see `ScriptRunner`. After `late` it is not sent again where Redis did not know it. */
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
      // A Redis that was started anew, or another node of a cluster, has not heard of it.
      if (replyOf(error) !== "NOSCRIPT" || late?.aborted === true) throw error;
      return client.eval(this.#text, keys.length, ...keys, ...args);
    }
  }
}

/** How long an answer is waited for. */
const DEADLINE_MS = 2_000;
/** How long a connection is waited for: what is sent afterwards still has some time. */
const READY_MS = 1_500;
const PAUSE_MS = 20;
/** What may wait for Redis at once, and what a script takes besides its arguments. */
const WAITING_MAX_BYTES = 64 * 1024 * 1024;
const SCRIPT_BYTES = 1_024;

/** What a script is worth where there is no connection, or where it is lost. */
export type Urgency =
  /** It is to be done now or not at all. */
  | "now"
  /** The same, and it is asked again where the connection was lost: done twice it is as good as done once. */
  | "again"
  /** It may wait for the next connection, though its sender does not. */
  | "later";

/** A script was sent, or waits to be, and nobody knows whether it was run. */
export class LateError extends StoreError {}

/** A script with what it is run on. All keys are of one slot. */
interface ScriptRun {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  readonly urgency: Urgency;
  /** Signal of the requester; an aborted request is not sent. */
  readonly signal?: AbortSignal;
}

/**
 * Runs scripts for a store in Redis, each with a deadline: what Redis refuses for a moment is asked again until then, but never later.
 * Everything rejects with a `StoreError`.
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

  /** What came from the client has the command in it, with values, so it goes no further. */
  #failure(reply: string | undefined): StoreError {
    return new StoreError(
      `the store ${reply === undefined ? wordsOfLoss(this.#connection.failure) : wordsOfReply(reply)}`,
    );
  }
}
