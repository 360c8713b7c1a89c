/** Who asks a store: what waits is not done for a call that has ended. */
export interface StoreCaller {
  readonly signal: AbortSignal;
}

/** An entry as a store has it. */
export interface StoredEntry {
  /** JSON. */
  readonly value: string;
  readonly version: number;
  /** Milliseconds of the wall clock, since 1970; `null` where it stays. */
  readonly expiresAt: number | null;
}

/** What is known of an entry without its value. */
export interface ListedKey {
  readonly key: string;
  readonly version: number;
  /** Of the key and of the value's JSON, in UTF-8. */
  readonly bytes: number;
  /** Milliseconds of the wall clock, since 1970; `null` where it stays. */
  readonly expiresAt: number | null;
}

export interface Page {
  readonly keys: readonly ListedKey[];
  /** Cursor of the next page; `null` after the last page. */
  readonly cursor: string | null;
}

/** What has to hold for an entry to be changed. */
export type Condition =
  { readonly kind: "always" } | { readonly kind: "absent" } | { readonly kind: "version"; readonly version: number };

/** An entry to be. */
export interface NewEntry {
  readonly key: string;
  /** JSON. */
  readonly value: string;
  /** How long it stays, by the store's clock; `null` for ever. */
  readonly ttlMs: number | null;
  readonly condition: Condition;
  /** What the namespace may hold. */
  readonly quotaBytes: number;
}

/** Which keys a page is of. */
export interface PageRequest {
  readonly prefix: string;
  /** The key behind which it begins; empty for the first page. */
  readonly after: string;
  readonly limit: number;
}

/** What came of setting an entry. */
export type SetOutcome =
  | { readonly kind: "set"; readonly version: number }
  | { readonly kind: "unmatched" }
  | { readonly kind: "full"; readonly usedBytes: number; readonly moreBytes: number };

/**
 * Where entries are kept, by namespace: a namespace is any text, and one that nobody has written to is empty. Each operation is
 * done as a whole or not at all. Throws a `StoreError`, at once or later, where the store cannot do it.
 */
export interface KvStore {
  get(caller: StoreCaller, namespace: string, key: string): StoredEntry | null | Promise<StoredEntry | null>;
  set(caller: StoreCaller, namespace: string, entry: NewEntry): SetOutcome | Promise<SetOutcome>;
  /** Answers whether there was one that could be deleted. */
  delete(caller: StoreCaller, namespace: string, key: string, condition: Condition): boolean | Promise<boolean>;
  /** Keys in the order of their UTF-8. */
  list(caller: StoreCaller, namespace: string, request: PageRequest): Page | Promise<Page>;
  close(): void | Promise<void>;
}
