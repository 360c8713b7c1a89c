import { createHash, randomUUID } from "node:crypto";
import { StoreError } from "../../kernel/base/errors.ts";
import { TenantPlaces } from "../../kernel/base/tenant-places.ts";
import type { RedisConnection } from "../redis/connection.ts";
import { kvPrefixOf } from "../redis/keys.ts";
import { wordsOfLoss } from "../redis/reply.ts";
import { LateError, RefusedError, type Script, ScriptRunner } from "../redis/script.ts";
import type {
  StoreCaller,
  Condition,
  DeletedEntry,
  KvStore,
  ListedKey,
  NewEntry,
  OpenKvStore,
  Page,
  PageRequest,
  SetOutcome,
  StoredEntry,
} from "../../kernel/broker/capabilities/kv/kv-store.ts";
import { DELETE, GET, LIST, SET } from "./redis-scripts.ts";

/** Time for which Redis keeps the outcome of a write: a script whose reply was lost runs again within it. */
const OUTCOME_KEPT_MS = 10_000;
/** Maximum attempts of one `set`: each removes expired entries that leave it no room. */
const SWEEPS_MAX = 100;

/** Opens it, with the values that the factory of the store has resolved. */
export const open: OpenKvStore = (own) => new RedisKvStore(own as RedisLinkOptions);

const PARTS = ["values", "heads", "order", "expiry", "version"] as const;

/**
 * Entries in Redis. All keys of a namespace have one hash slot, so a cluster spreads namespaces over its nodes. Entries
 * expire by Redis's clock. Each write has an id, so a write that is sent twice is done once.
 */
export class RedisKvStore implements KvStore {
  readonly #link: RedisLink;
  /** Prefix of the ids of writes; a number follows. */
  readonly #self = randomUUID();
  #writes = 0;

  constructor(options: RedisLinkOptions) {
    this.#link = new RedisLink(options, "glovebox:kv");
  }

  async get(caller: StoreCaller, namespace: string, key: string): Promise<StoredEntry | null> {
    const answer = await this.#link.run(caller, GET, keysOf(namespace), [key]);
    if (answer === null) return null;
    const [head = "", value = ""] = texts(answer);
    const { version, expiresAt } = readHead(head);
    return { value, version, expiresAt };
  }

  async set(caller: StoreCaller, namespace: string, entry: NewEntry): Promise<SetOutcome> {
    const { key, value, ttlMs, condition, quotaBytes, once } = entry;
    const args = [...wordsOf(condition), key, value, ttlMs === null ? "" : `${ttlMs}`, `${quotaBytes}`];
    for (let sweeps = 0; sweeps < SWEEPS_MAX; sweeps++) {
      const [kind = "", first, second] = await this.#write(caller, SET, namespace, args, once);
      switch (kind) {
        case "set":
          return { kind, version: Number(first) };
        case "unmatched":
          return { kind };
        case "full":
          return { kind, usedBytes: Number(first), moreBytes: Number(second) };
        case "swept":
          continue;
        default:
          throw broken();
      }
    }
    throw new StoreError("the store is busy removing expired entries: try again later");
  }

  async delete(caller: StoreCaller, namespace: string, { key, condition, once }: DeletedEntry): Promise<boolean> {
    const [kind] = await this.#write(caller, DELETE, namespace, [...wordsOf(condition), key], once);
    return kind === "deleted";
  }

  async list(caller: StoreCaller, namespace: string, { prefix, after, limit }: PageRequest): Promise<Page> {
    const args = [firstOf(prefix, after), prefix, `${limit}`];
    const answer = await this.#link.run(caller, LIST, keysOf(namespace), args);
    if (!Array.isArray(answer)) throw broken();
    const [next, found] = answer as readonly unknown[];
    if (typeof next !== "string") throw broken();
    return { keys: readKeys(texts(found)), cursor: next === "" ? null : next };
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  async #write(
    caller: StoreCaller,
    script: Script,
    namespace: string,
    args: readonly string[],
    once = "",
  ): Promise<readonly string[]> {
    const name = `${this.#self}/${++this.#writes}`;
    const answer = await this.#link.run(caller, script, keysOf(namespace, name), [`${OUTCOME_KEPT_MS}`, once, ...args]);
    if (typeof answer !== "string") throw broken();
    return answer.split(" ");
  }
}

/** Redis keys of a namespace, with a hash in place of its name, which may be long and contain any character. */
function keysOf(namespace: string, write?: string): readonly string[] {
  const prefix = kvPrefixOf(createHash("sha256").update(namespace).digest("base64url"));
  const keys = PARTS.map((part) => `${prefix}:${part}`);
  return write === undefined ? keys : [...keys, `${prefix}:once:${write}`, `${prefix}:named`, `${prefix}:names`];
}

function wordsOf(condition: Condition): readonly [string, string] {
  return [condition.kind, condition.kind === "version" ? `${condition.version}` : ""];
}

/**
 * Start of a page as an argument of `ZRANGEBYLEX`. Compared here, because Lua compares texts by the server's locale.
 */
function firstOf(prefix: string, after: string): string {
  const isBehind = after !== "" && Buffer.compare(Buffer.from(after), Buffer.from(prefix)) >= 0;
  if (isBehind) return `(${after}`;
  return prefix === "" ? "-" : `[${prefix}`;
}

function readKeys(found: readonly string[]): readonly ListedKey[] {
  const keys: ListedKey[] = [];
  for (let at = 0; at + 1 < found.length; at += 2)
    keys.push({ key: found[at] ?? "", ...readHead(found[at + 1] ?? "") });
  return keys;
}

/** Parses `version bytes expires`; the last may be empty. */
function readHead(head: string): Omit<ListedKey, "key"> {
  const [version, bytes, expires = ""] = head.split(" ");
  return { version: Number(version), bytes: Number(bytes), expiresAt: expires === "" ? null : Number(expires) };
}

function texts(answer: unknown): readonly string[] {
  if (!Array.isArray(answer) || !answer.every((each) => typeof each === "string")) throw broken();
  return answer;
}

function broken(): StoreError {
  return new StoreError("the store is corrupt: it holds values that this engine did not write");
}

export interface RedisLinkOptions {
  /** URL of Redis. It may contain a password. */
  readonly url: string;
}

interface OpenRedis {
  readonly connection: RedisConnection;
  readonly runner: ScriptRunner;
}

/** Requests that wait at once for a connection: of one tenant, and of all. */
const WAITING = { ofTenant: 256, all: 4_096 };
/** Time of a call that is left to it when its request fails, as a share, and the most. */
const LEFT_SHARE = 0.1;
const LEFT_MOST_MS = 500;
/** Time after the first attempt in which a script may be sent again: its outcome is still kept. */
const REPEATED_MS = OUTCOME_KEPT_MS - 4_000;

/**
 * Runs scripts in Redis over a connection that is opened with the first of them. A script whose reply was lost with its
 * connection is sent again while its caller waits: a caller that received an error must not find the write done. So a
 * script may run twice, and must handle that itself.
 */
class RedisLink {
  readonly #options: RedisLinkOptions;
  readonly #name: string;
  readonly #places = new TenantPlaces(WAITING);
  #opening: Promise<OpenRedis> | null = null;
  #isClosed = false;

  /** `name`: the connection's name in Redis. */
  constructor(options: RedisLinkOptions, name: string) {
    this.#options = options;
    this.#name = name;
  }

  /**
   * Waits for Redis while the call has time. Rejects with a `StoreError` if Redis fails, or does not reply in time. All
   * keys have one hash slot.
   */
  async run(caller: StoreCaller, script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (this.#isClosed) throw new StoreError("the engine has closed");
    this.#opening ??= this.#open();
    const { connection, runner } = await this.#opening;
    const { signal, endsMs = 0 } = caller;
    const once = () => runner.run({ script, keys, args, urgency: "again", signal });
    const nowMs = performance.now();
    const leftMs = endsMs - nowMs;
    if (leftMs <= 0) return once();
    const untilMs = nowMs + leftMs - Math.min(leftMs * LEFT_SHARE, LEFT_MOST_MS);
    if (!connection.isReady) await this.#wait(connection, caller, untilMs);
    const repeatedMs = Math.min(performance.now() + REPEATED_MS, untilMs);
    for (;;) {
      try {
        return await once();
      } catch (error) {
        // Without a reply its outcome is unknown, and a repetition has no second effect. Any other failure ends it at
        // once.
        const mayRepeat = error instanceof LateError || !connection.isReady;
        const isOver = performance.now() > repeatedMs || signal.aborted || this.#isClosed;
        if (isOver || !mayRepeat || error instanceof RefusedError) throw error;
      }
      if (!connection.isReady) await this.#wait(connection, caller, repeatedMs);
    }
  }

  /** Waits until there is a connection. Rejects if it is not made in time, or too many calls wait. */
  async #wait(connection: RedisConnection, { tenant = "", signal, onWait }: StoreCaller, untilMs: number) {
    // Calls do not wait for a problem that an operator has to solve.
    if (connection.problem?.isLasting === true) throw new StoreError(`the store ${wordsOfLoss(connection)}`);
    using place = this.#places.take(tenant);
    if (place === null) throw new StoreError(`too many requests wait for the store, which ${wordsOfLoss(connection)}`);
    onWait?.();
    const isReady = await connection.ready(Math.max(untilMs - performance.now(), 0), signal);
    if (!isReady) throw new StoreError(signal.aborted ? "the call has ended" : `the store ${wordsOfLoss(connection)}`);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#opening)?.connection.close();
  }

  async #open(): Promise<OpenRedis> {
    // Loaded lazily, because most engines do not use Redis.
    const { RedisConnection: Connection } = await import("../redis/connection.ts");
    const connection = Connection.open(this.#options.url, this.#name, { resends: false });
    return { connection, runner: new ScriptRunner(connection) };
  }
}
