import type { CallLedger, LedgerCapacity } from "./calls/ledger.ts";
import type { RedisListener, StoreUse } from "./outage.ts";

/** Address of a store that engines of several machines share: members of the options `kv`, `idempotency` and `calls`. */
export interface StoreAddress {
  readonly url?: string | undefined;
  readonly fleet?: string | undefined;
  readonly secret?: string | undefined;
}

/** A store in place of a file. A plugin brings it, for an option of an engine that has a `url`. */
export interface StoreFactory<Own extends object = object> {
  /**
   * Reads its address, as data that a thread can be sent. Throws a `RangeError` or `TypeError` that names the invalid
   * member of the option and shows neither the URL nor a secret.
   */
  resolve(address: StoreAddress): Own;
  /** Loads the packages that it needs. Rejects with a `GloveboxError`, `missing_package`, if one is missing. */
  load(): Promise<unknown>;
  /** Watches whether stores of the plugin can be used: one call opens all stores with the same function. */
  readonly openProbes?: OpenProbes;
}

/** Watched stores, with their resolved addresses. */
export type ProbedStores = readonly { readonly use: StoreUse; readonly own: object }[];
export type OpenProbes = (stores: ProbedStores, listener: RedisListener) => Promise<readonly StoreProbe[]>;

export interface StoreProbe extends AsyncDisposable {
  /** Resolves when it is known whether the store can be used, or after `ms`. The listener has been called by then. */
  settled(ms: number): Promise<void>;
}

/** A store that is used on another thread, which imports the module that opens it. */
export interface ThreadStoreFactory<Own extends object = object> extends StoreFactory<Own> {
  /** File of a module that exports `open`: an `OpenKvStore`, or an `OpenCalls`. */
  readonly module: URL;
}

/** A store of ended calls. */
export interface CallStoreFactory<Own extends object = object> extends ThreadStoreFactory<Own> {
  /** Default of `calls.maxBytes`. */
  readonly maxBytes: number;
}

/** A ledger, which the engine's own thread uses. */
export interface LedgerFactory<Own extends object = object> extends StoreFactory<Own> {
  /** Makes it. Connects when it is first used. */
  open(own: Own, capacity: LedgerCapacity): CallLedger;
}

/** Stores of a plugin, by the option that has their address. */
export interface StoreFactories {
  readonly kv?: ThreadStoreFactory;
  readonly idempotency?: LedgerFactory;
  readonly calls?: CallStoreFactory;
}

/** A plugin's store with its resolved address. */
export interface PluginStore<Factory extends StoreFactory = ThreadStoreFactory> {
  readonly factory: Factory;
  readonly own: object;
}

/** Such a store, in the form that is sent to its thread. */
export interface SentStore {
  /** URL of its factory's module. */
  readonly module: string;
  readonly own: object;
}

/** Throws a `TypeError` if no plugin brings a store for the option, and as its `resolve` does. */
export function pluginStore<Factory extends StoreFactory>(
  option: keyof StoreFactories,
  factory: Factory | undefined,
  address: StoreAddress,
): PluginStore<Factory> {
  if (factory === undefined)
    throw new TypeError(`${option}.url needs a plugin that brings a store for it: add one, or use ${option}.path`);
  return { factory, own: factory.resolve(address) };
}

export function sentStore({ factory, own }: PluginStore): SentStore {
  return { module: factory.module.href, own };
}
