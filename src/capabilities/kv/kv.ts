import { type Capability, type CapabilityCall, CapabilityRefusal, type MethodShape } from "../capability.ts";
import { type Condition, Entries, type SetOutcome, type StoredEntry } from "./entries.ts";
import { KV_LAYOUT } from "./layout.ts";
import { quotaGrants } from "./quota.ts";
import { AGAIN, Store, type StoreOptions } from "./store.ts";

/** Longest key, in bytes of UTF-8. */
const KEY_MAX_BYTES = 512;
/** Longest value, in bytes of its JSON. */
const VALUE_MAX_BYTES = 256 * 1024;
/** Longest name of a tenant, in characters: it is kept with its entries. */
const TENANT_MAX = 1_024;
/** Ten years. */
const TTL_MAX_MS = 315_576_000_000;
const LIST_DEFAULT = 100;
const LIST_MAX = 1_000;

const KEY = { type: "string", minLength: 1, maxLength: KEY_MAX_BYTES };
const VERSION = { type: "integer", minimum: 1 };

const METHODS = {
  get: { ...object({ key: KEY }, ["key"]), isRead: true },
  getEntry: { ...object({ key: KEY }, ["key"]), isRead: true },
  set: object(
    {
      key: KEY,
      value: true,
      ttlMs: { type: "integer", minimum: 1, maximum: TTL_MAX_MS },
      ifVersion: VERSION,
      ifAbsent: { type: "boolean" },
    },
    ["key", "value"],
  ),
  delete: object({ key: KEY, ifVersion: VERSION }, ["key"]),
  list: {
    ...object({
      prefix: { type: "string", maxLength: KEY_MAX_BYTES },
      limit: { type: "integer", minimum: 1, maximum: LIST_MAX },
      cursor: KEY,
    }),
    isRead: true,
  },
} satisfies Record<string, MethodShape>;

interface Keyed {
  readonly key: string;
}
interface SetRequest extends Keyed {
  readonly value: unknown;
  readonly ttlMs?: number;
  readonly ifVersion?: number;
  readonly ifAbsent?: boolean;
}
interface DeleteRequest extends Keyed {
  readonly ifVersion?: number;
}
interface ListRequest {
  readonly prefix?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/**
 * `kv`: values that outlive calls, in a namespace for each tool and tenant. Grants are how much it may hold: a key has at
 * most 512 bytes and no NUL, a value 256 KiB of JSON, both count, and an entry counts for 64 bytes at least.
 */
export function createKv(options: StoreOptions): Capability<number> {
  const store = new Store(options, { layout: KV_LAYOUT, open: (database) => new Entries(database) });
  return {
    name: "kv",
    grants: quotaGrants,
    methods: METHODS,
    open: (call, grants) => {
      const namespace = new Namespace(store, call, Math.max(...grants));
      return { invoke: (method, args) => namespace.invoke(method, args) };
    },
    close: () => store.close(),
  };
}

/** What one call sees of the store. */
class Namespace {
  readonly #store: Store<Entries>;
  readonly #call: CapabilityCall;
  readonly #name: string;
  readonly #quotaBytes: number;

  constructor(store: Store<Entries>, call: CapabilityCall, quotaBytes: number) {
    this.#store = store;
    this.#call = call;
    this.#name = namespaceOf(call);
    this.#quotaBytes = quotaBytes;
  }

  invoke(method: string, args: unknown): unknown {
    switch (method) {
      case "get":
        return this.#read(args as Keyed, (entry) => entry && parse(entry));
      case "getEntry":
        return this.#read(
          args as Keyed,
          (entry) => entry && { value: parse(entry), version: entry.version, expiresAt: entry.expires_ms },
        );
      case "set":
        return this.#set(args as SetRequest);
      case "delete":
        return this.#delete(args as DeleteRequest);
      case "list":
        return this.#list(args as ListRequest);
      default:
        throw new TypeError(`kv has no method "${method}"`);
    }
  }

  #read<T>({ key }: Keyed, render: (entry: StoredEntry | null) => T): T | Promise<T> {
    checkKey(key, "a key");
    return this.#store.use(this.#call, (entries, nowMs) => render(entries.get(this.#name, key, nowMs)));
  }

  async #set({ key, value, ttlMs, ifVersion, ifAbsent = false }: SetRequest): Promise<number | null> {
    checkKey(key, "a key");
    if (ifAbsent && ifVersion !== undefined) throw new TypeError("it is either ifAbsent or ifVersion");
    const json = JSON.stringify(value);
    const length = Buffer.byteLength(json);
    if (length > VALUE_MAX_BYTES) {
      throw new RangeError(`a value has at most ${VALUE_MAX_BYTES} bytes of JSON, this one has ${length}`);
    }
    const condition: Condition = ifAbsent ? { kind: "absent" } : onVersion(ifVersion);
    const quotaBytes = this.#quotaBytes;
    const outcome = await this.#store.use(this.#call, (entries, nowMs) => {
      const expiresMs = ttlMs === undefined ? null : nowMs + ttlMs;
      const entry = { key, value: json, expiresMs, condition, quotaBytes };
      return settled(entries.set(this.#name, entry, nowMs));
    });
    switch (outcome.kind) {
      case "set":
        return outcome.version;
      case "unmatched":
        return null;
      case "full":
        throw this.#full(outcome);
    }
  }

  #delete({ key, ifVersion }: DeleteRequest): boolean | Promise<boolean> {
    checkKey(key, "a key");
    return this.#store.use(this.#call, (entries, nowMs) =>
      entries.delete(this.#name, key, onVersion(ifVersion), nowMs),
    );
  }

  #list({ prefix = "", limit = LIST_DEFAULT, cursor = "" }: ListRequest): unknown {
    checkKey(prefix, "a prefix");
    checkKey(cursor, "a cursor");
    return this.#store.use(this.#call, (entries: Entries, nowMs) =>
      entries.list(this.#name, prefix, cursor, limit, nowMs),
    );
  }

  #full({ usedBytes, moreBytes }: Extract<SetOutcome, { kind: "full" }>): CapabilityRefusal {
    const quota = quotaGrants.describe(this.#quotaBytes);
    const message = `the tool's key-value store is full: ${usedBytes} of ${quota} are used, and this takes ${moreBytes} more`;
    return new CapabilityRefusal("limit", message, {
      asked: `kv of ${quotaGrants.describe(usedBytes + moreBytes)}`,
      granted: `kv of ${quota}`,
      remedy: "raise maxBytes in allow.kv of a policy rule, and in capabilities.kv of the tool where it has one",
    });
  }
}

/**
 * As JSON, because names may hold anything: what parts them cannot be in them, and what is no Unicode stays different
 * from what else is none.
 */
function namespaceOf({ tool, tenant = "" }: CapabilityCall): string {
  if (tenant.length > TENANT_MAX) throw new RangeError(`the tenant's name has more than ${TENANT_MAX} characters`);
  return JSON.stringify([tool, tenant]);
}

function checkKey(key: string, what: string): void {
  if (key.includes("\0")) throw new TypeError(`${what} has no NUL in it`);
  // They would all be written as the same replacement character.
  if (!key.isWellFormed()) throw new TypeError(`${what} has no half of a surrogate pair in it`);
  const length = Buffer.byteLength(key);
  if (length > KEY_MAX_BYTES) {
    throw new RangeError(`${what} has at most ${KEY_MAX_BYTES} bytes of UTF-8, this one has ${length}`);
  }
}

function onVersion(version: number | undefined): Condition {
  return version === undefined ? { kind: "always" } : { kind: "version", version };
}

function settled(outcome: SetOutcome): Exclude<SetOutcome, { kind: "swept" }> | typeof AGAIN {
  return outcome.kind === "swept" ? AGAIN : outcome;
}

function parse({ value }: StoredEntry): unknown {
  return JSON.parse(value) as unknown;
}

function object(properties: Record<string, unknown>, required: readonly string[] = []): MethodShape {
  return { input: { type: "object", properties, required, additionalProperties: false } };
}
