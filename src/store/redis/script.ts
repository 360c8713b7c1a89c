import { createHash } from "node:crypto";
import type { RedisClient } from "./connection.ts";
import { replyOf } from "./reply.ts";

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
