import type { Capability, MethodShape } from "../capability.ts";
import type { KvStore, OpenKvStore } from "./kv-store.ts";
import { KEY_MAX_BYTES, LIST_MAX, KvNamespace, quotaGrants } from "./namespace.ts";
import { SqliteKvStore } from "./sqlite-store.ts";
import type { StoreOptions } from "../../../store/sqlite/store.ts";
import type { SentStore } from "../../../store/store-factory.ts";

/** Store of the values: a file, or a store of a plugin. */
export type KvStoreOptions = StoreOptions | SentStore;

/** Ten years. */
const TTL_MAX_MS = 315_576_000_000;

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

/**
 * `kv`: values that outlive calls, in a namespace for each tool and tenant. The grant is the namespace's quota in
 * bytes: keys (at most 512 bytes, without NUL) and values (at most 256 KiB of JSON) count, and an entry counts for at
 * least 64 bytes. `openStore`: called once, when a call first has `kv`.
 */
export function createKv(openStore: () => KvStore): Capability<number> {
  let store: KvStore | undefined;
  return {
    name: "kv",
    grants: quotaGrants,
    methods: METHODS,
    open: (call, grants) => {
      store ??= openStore();
      const namespace = new KvNamespace(store, call, Math.max(...grants));
      return {
        // Only if writes have names: a named write is done once, however often it is requested.
        isRepeatable: () => call.effectsId !== undefined,
        invoke: (method, args, step) => namespace.invoke(method, args, step),
      };
    },
    close: () => store?.close(),
  };
}

/** Returns the function that opens its store. Rejects if the module of a plugin's store cannot be imported. */
export async function kvOpener(options: KvStoreOptions): Promise<() => KvStore> {
  if ("path" in options) return () => new SqliteKvStore(options);
  const { open } = (await import(options.module)) as { readonly open: OpenKvStore };
  return () => open(options.own);
}

function object(properties: Record<string, unknown>, required: readonly string[] = []): MethodShape {
  return { input: { type: "object", properties, required, additionalProperties: false } };
}
