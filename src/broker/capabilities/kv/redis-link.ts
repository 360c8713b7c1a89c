import { ScriptRunner } from "../../../store/redis/script-runner.ts";
import type { RedisConnection } from "../../../store/redis/connection.ts";
import type { Script } from "../../../store/redis/script.ts";
import { StoreError } from "../../../base/store-error.ts";
import type { Asker } from "./kv-store.ts";

export interface RedisLinkOptions {
  /** Where Redis is. It may hold a password. */
  readonly url: string;
}

interface Opened {
  readonly connection: RedisConnection;
  readonly runner: ScriptRunner;
}

/**
 * Runs scripts in Redis, by a connection that is opened with the first of them. What a lost connection did not answer is asked again,
 * but only as long as somebody waits for it: whoever was told that it failed does not want it done. So a script may run twice, and
 * has to see to that itself.
 */
export class RedisLink {
  readonly #options: RedisLinkOptions;
  readonly #name: string;
  #opening: Promise<Opened> | null = null;
  #isClosed = false;

  /** `name` is what Redis shows of the connection. */
  constructor(options: RedisLinkOptions, name: string) {
    this.#options = options;
    this.#name = name;
  }

  /** Rejects with a `StoreError` where Redis cannot do it, or not in time. All keys are of one slot. */
  async run({ signal }: Asker, script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (this.#isClosed) throw new StoreError("the engine has closed");
    this.#opening ??= this.#open();
    const { runner } = await this.#opening;
    return runner.run({ script, keys, args, urgency: "again", signal });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#opening)?.connection.close();
  }

  async #open(): Promise<Opened> {
    // It is loaded here because most engines do without it.
    const { RedisConnection: Connection } = await import("../../../store/redis/connection.ts");
    const connection = Connection.open(this.#options.url, this.#name, { resends: false });
    return { connection, runner: new ScriptRunner(connection) };
  }
}
