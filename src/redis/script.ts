import { createHash } from "node:crypto";
import type { RedisClient } from "./connection.ts";

/** A Lua script that Redis runs as one step. It crosses once; after that its hash names it. */
export class Script {
  readonly #text: string;
  readonly #sha: string;

  constructor(text: string) {
    this.#text = text;
    this.#sha = createHash("sha1").update(text).digest("hex");
  }

  async run(client: RedisClient, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    try {
      return await client.evalsha(this.#sha, keys.length, ...keys, ...args);
    } catch (error) {
      // A Redis that was started anew, or another node of a cluster, has not heard of it.
      if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
      return client.eval(this.#text, keys.length, ...keys, ...args);
    }
  }
}
