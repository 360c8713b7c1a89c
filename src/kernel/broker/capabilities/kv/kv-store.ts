/** Caller of a store. A waiting operation is dropped when the caller's call has ended. */
export interface StoreCaller {
  readonly signal: AbortSignal;
  readonly tenant?: string;
  /** See `OpenCall`. */
  readonly endsMs?: number;
  readonly onWait?: () => void;
}

/** A stored entry. */
export interface StoredEntry {
  /** JSON. */
  readonly value: string;
  readonly version: number;
  /** Milliseconds since 1970; `null`: does not expire. */
  readonly expiresAt: number | null;
}

/** A stored entry without its value. */
export interface ListedKey {
  readonly key: string;
  readonly version: number;
  /** Bytes of the key and of the value's JSON, in UTF-8. */
  readonly bytes: number;
  /** Milliseconds since 1970; `null`: does not expire. */
  readonly expiresAt: number | null;
}

export interface Page {
  readonly keys: readonly ListedKey[];
  /** Cursor of the next page; `null` after the last page. */
  readonly cursor: string | null;
}

/** Condition for changing an entry. */
export type Condition =
  { readonly kind: "always" } | { readonly kind: "absent" } | { readonly kind: "version"; readonly version: number };

/** An entry to be stored. */
export interface NewEntry {
  readonly key: string;
  /** JSON. */
  readonly value: string;
  /** Time to live, by the store's clock; `null`: does not expire. */
  readonly ttlMs: number | null;
  readonly condition: Condition;
  /** Quota of the namespace. */
  readonly quotaBytes: number;
  /** Name of the write: one with the same name is done once. Default: none. */
  readonly once?: string | undefined;
}

/** Writes with names that a namespace remembers, the latest. */
export const NAMES_MAX = 10_000;
/** Time for which it remembers them. */
export const NAMES_KEPT_MS = 7 * 24 * 60 * 60 * 1_000;

/** An entry to be deleted. */
export type DeletedEntry = Pick<NewEntry, "key" | "condition" | "once">;

/** Keys of a page. */
export interface PageRequest {
  readonly prefix: string;
  /** The page begins after this key; empty for the first page. */
  readonly after: string;
  readonly limit: number;
}

/** Outcome of setting an entry. */
export type SetOutcome =
  | { readonly kind: "set"; readonly version: number }
  | { readonly kind: "unmatched" }
  | { readonly kind: "full"; readonly usedBytes: number; readonly moreBytes: number };

/**
 * Entries by namespace. A namespace is any text, and empty until something is written to it. Operations are atomic.
 * Throws a `StoreError`, synchronously or as a rejection, if the store fails.
 */
export interface KvStore {
  get(caller: StoreCaller, namespace: string, key: string): StoredEntry | null | Promise<StoredEntry | null>;
  set(caller: StoreCaller, namespace: string, entry: NewEntry): SetOutcome | Promise<SetOutcome>;
  /** Returns whether an entry was deleted. */
  delete(caller: StoreCaller, namespace: string, entry: DeletedEntry): boolean | Promise<boolean>;
  /** Lists keys in the order of their UTF-8 bytes. */
  list(caller: StoreCaller, namespace: string, request: PageRequest): Page | Promise<Page>;
  close(): void | Promise<void>;
}

/** Opens a plugin's store on the broker's thread. `own`: the options that the store's factory has resolved. */
export type OpenKvStore = (own: object) => KvStore;
