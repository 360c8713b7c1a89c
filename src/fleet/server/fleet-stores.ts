import { importOptional } from "../../kernel/base/optional-package.ts";
import type { CallsAddress } from "../kept-calls/redis-kept-calls.ts";
import { RedisLedger, type LedgerAddress } from "../ledger/redis-ledger.ts";
import type { StoreUse } from "../../kernel/store/outage.ts";
import { kvPrefixOf, prefixOf } from "../redis/keys.ts";
import { resolveSecret } from "../../kernel/store/seal.ts";
import { resolveFleetName, resolveRedisUrl } from "../redis/url.ts";
import type {
  CallStoreFactory,
  LedgerFactory,
  OpenProbes,
  StoreFactories,
  ThreadStoreFactory,
} from "../../kernel/store/store-factory.ts";

const EXTENSION = import.meta.url.endsWith(".ts") ? "ts" : "js";
/** Redis keeps calls in memory. */
const CALLS_MAX_BYTES = 64 * 1024 ** 2;

/** Keys that probes write, on the same nodes as those of the stores. */
const PROBED: Readonly<Record<StoreUse, (fleet: string) => string>> = {
  kv: () => kvPrefixOf("probe"),
  idempotency: (fleet) => `${prefixOf(fleet, "ledger")}:probe`,
  calls: (fleet) => `${prefixOf(fleet, "calls")}:probe`,
};

/** One probe for each URL. */
const openProbes: OpenProbes = async (stores, listener) => {
  const { RedisProbe } = await import("../redis/probe.ts");
  const keys = stores.map(({ use, own }) => {
    const { url, fleet = "" } = own as { readonly url: string; readonly fleet?: string };
    return { url, use, key: PROBED[use](fleet) };
  });
  return [...Map.groupBy(keys, ({ url }) => url)].map(([url, own]) => new RedisProbe(url, own, listener));
};

const kv: ThreadStoreFactory = {
  module: new URL(`../kv/redis-store.${EXTENSION}`, import.meta.url),
  resolve: ({ url }) => ({ url: resolveRedisUrl("kv.url", url) }),
  load: () => loadClient("kv.url"),
  openProbes,
};

/** The ledger of calls with idempotency keys. */
export const fleetLedger: LedgerFactory<LedgerAddress> = {
  resolve: ({ url, fleet, secret }) => ({
    url: resolveRedisUrl("idempotency.url", url),
    fleet: resolveFleetName("idempotency.fleet", fleet),
    secret: resolveSecret("idempotency.secret", secret),
  }),
  load: () => loadClient("idempotency.url"),
  openProbes,
  open: (own, { ttlMs, maxEntries, maxBytes }) => new RedisLedger({ ...own, ttlMs, maxEntries, maxBytes }),
};

export const fleetCalls: CallStoreFactory<CallsAddress> = {
  module: new URL(`../kept-calls/redis-kept-calls.${EXTENSION}`, import.meta.url),
  maxBytes: CALLS_MAX_BYTES,
  resolve: ({ url, fleet, secret }) => {
    const sealing = resolveSecret("calls.secret", secret);
    if (sealing === undefined) throw new TypeError("calls.url requires calls.secret: others may read that Redis");
    return {
      url: resolveRedisUrl("calls.url", url),
      fleet: resolveFleetName("calls.fleet", fleet),
      secret: sealing,
    };
  },
  load: () => loadClient("calls.url"),
  openProbes,
};

/** Stores in Redis, which the servers of a fleet share. */
export const fleetStores: StoreFactories = { kv, idempotency: fleetLedger, calls: fleetCalls };

function loadClient(option: string): Promise<unknown> {
  return importOptional(option, ["ioredis"], () => import("../redis/connection.ts"));
}
