import { setTimeout as delay } from "node:timers/promises";
import { RedisConnection } from "./connection.ts";
import type { RedisProblem } from "../../kernel/store/outage.ts";
import { answerOf } from "./reply.ts";
import type { RedisListener, RedisUse } from "../../kernel/store/outage.ts";
import { EFFECTS, RedisReport } from "./report.ts";

/** Interval of the writes, shorter than the time for which a refusal counts; and while Redis has a problem. */
const PROBE_MS = 5_000;
const PROBE_AGAIN_MS = 1_000;
const LOOK_MS = 20;

/** A key that a probe writes, on the same node as the keys of a use. */
export interface ProbedKey {
  readonly use: RedisUse;
  readonly key: string;
}

/**
 * Writes to a Redis every few seconds, one key for each use, and reports failures: otherwise the next call would be the
 * first to notice.
 */
export class RedisProbe implements AsyncDisposable {
  readonly #connection: RedisConnection;
  readonly #keys: readonly ProbedKey[];
  readonly #report: RedisReport;
  readonly #timer: NodeJS.Timeout;
  #hasWritten = false;
  #writtenMs = -Infinity;

  constructor(url: string, keys: readonly ProbedKey[], listener: RedisListener) {
    this.#keys = keys;
    this.#connection = RedisConnection.open(url, "glovebox:probe", keys[0] && { key: keys[0].key });
    const uses = keys.map(({ use }) => use);
    const effect = uses.map((use) => EFFECTS[use]).join("; ");
    this.#report = new RedisReport({ uses, effect, problem: () => this.problem, ...listener });
    this.#connection.onReady(() => void this.#write());
    this.#timer = setInterval(() => {
      if (this.problem !== null || performance.now() - this.#writtenMs >= PROBE_MS) void this.#write();
    }, PROBE_AGAIN_MS).unref();
  }

  get problem(): RedisProblem | null {
    return this.#connection.problem;
  }

  /** Resolves when it is known whether Redis can be used, or after `ms`. By then its listener has been called. */
  async settled(ms: number): Promise<void> {
    const untilMs = performance.now() + ms;
    while (!this.#hasWritten && this.problem === null && performance.now() < untilMs) await delay(LOOK_MS);
    this.#report.look(performance.now());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#report[Symbol.dispose]();
    await this.#connection.close();
  }

  async #write(): Promise<void> {
    this.#writtenMs = performance.now();
    const writes = this.#keys.map(({ key }) =>
      answerOf(this.#connection, (client) => client.set(key, "1", "PX", 2 * PROBE_MS)),
    );
    const replies = await Promise.all(writes);
    if (replies.every((reply) => reply === "OK")) this.#connection.noteWritten();
    this.#hasWritten = true;
  }
}
