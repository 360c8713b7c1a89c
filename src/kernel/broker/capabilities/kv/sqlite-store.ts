import type { DatabaseSync, StatementSync } from "node:sqlite";
import { ENTRY_LEAST_BYTES, KV_LAYOUT } from "../../../store/sqlite/layout.ts";
import { AGAIN, SqliteStore, type StoreOptions, SWEPT_MAX, SqliteTransaction } from "../../../store/sqlite/store.ts";
import type {
  StoreCaller,
  Condition,
  KvStore,
  ListedKey,
  NewEntry,
  Page,
  PageRequest,
  SetOutcome,
  StoredEntry,
} from "./kv-store.ts";

/** Entries in an SQLite file, or in memory. */
export class SqliteKvStore implements KvStore {
  readonly #store: SqliteStore<SqliteEntries>;

  constructor(options: StoreOptions) {
    this.#store = new SqliteStore(options, { layout: KV_LAYOUT, open: (database) => new SqliteEntries(database) });
  }

  get(caller: StoreCaller, namespace: string, key: string): StoredEntry | null | Promise<StoredEntry | null> {
    return this.#store.use(caller, (entries, nowMs) => entries.get(namespace, key, nowMs));
  }

  set(caller: StoreCaller, namespace: string, entry: NewEntry): SetOutcome | Promise<SetOutcome> {
    return this.#store.use<SetOutcome>(caller, (entries, nowMs) => {
      const outcome = entries.set(namespace, entry, nowMs);
      return outcome.kind === "swept" ? AGAIN : outcome;
    });
  }

  delete(caller: StoreCaller, namespace: string, key: string, condition: Condition): boolean | Promise<boolean> {
    return this.#store.use(caller, (entries, nowMs) => entries.delete(namespace, key, condition, nowMs));
  }

  list(caller: StoreCaller, namespace: string, request: PageRequest): Page | Promise<Page> {
    return this.#store.use(caller, (entries, nowMs) => entries.list(namespace, request, nowMs));
  }

  close(): void {
    this.#store.close();
  }
}

/**
 * Maximum expired entries passed for a page of a list; the next page continues there. The walk runs on the calling
 * thread, so its worst case is what a full page costs.
 */
const EXPIRED_MAX = 100;

/**
 * Outcome of one attempt to set an entry. `swept`: not set, but expired entries were removed, so another attempt may
 * succeed.
 */
type SetAttempt = SetOutcome | { readonly kind: "swept" };

interface EntryRow {
  readonly key: string;
  readonly version: number;
  readonly bytes: number;
  readonly expires_ms: number | null;
}

const NAMESPACE = "(SELECT id FROM namespace WHERE name = ?)";

/** Entries of a database, by namespace. A namespace is any text, and empty until something is written to it. */
export class SqliteEntries {
  readonly #transaction: SqliteTransaction;
  readonly #get: StatementSync;
  readonly #find: StatementSync;
  readonly #list: StatementSync;
  readonly #addNamespace: StatementSync;
  readonly #findNamespace: StatementSync;
  readonly #nextVersion: StatementSync;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #sweep: StatementSync;

  constructor(database: DatabaseSync) {
    const prepare = (sql: string) => database.prepare(sql);
    this.#transaction = new SqliteTransaction(database);
    this.#get = prepare(
      `SELECT value, version, expires_ms AS expiresAt FROM entry
        WHERE namespace = ${NAMESPACE} AND key = ? AND (expires_ms IS NULL OR expires_ms > ?)`,
    );
    this.#find = prepare(`SELECT version, bytes, expires_ms FROM entry WHERE namespace = ${NAMESPACE} AND key = ?`);
    this.#list = prepare(
      `SELECT key, version, bytes, expires_ms FROM entry
        WHERE namespace = ${NAMESPACE} AND key >= max(?, ?) AND key <> ? ORDER BY key`,
    );
    this.#addNamespace = prepare("INSERT INTO namespace (name) VALUES (?) ON CONFLICT DO NOTHING");
    this.#findNamespace = prepare("SELECT id, bytes FROM namespace WHERE name = ?");
    this.#nextVersion = prepare("UPDATE namespace SET version = version + 1 WHERE id = ? RETURNING version");
    this.#put = prepare(
      `INSERT INTO entry (namespace, key, version, bytes, expires_ms, value) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET version = excluded.version, bytes = excluded.bytes,
          expires_ms = excluded.expires_ms, value = excluded.value`,
    );
    this.#delete = prepare(`DELETE FROM entry WHERE namespace = ${NAMESPACE} AND key = ?`);
    this.#sweep = prepare(
      `DELETE FROM entry WHERE id IN (SELECT id FROM entry WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ${SWEPT_MAX})`,
    );
  }

  get(namespace: string, key: string, nowMs: number): StoredEntry | null {
    return (this.#get.get(namespace, key, nowMs) as StoredEntry | undefined) ?? null;
  }

  set(namespace: string, { key, value, ttlMs, condition, quotaBytes }: NewEntry, nowMs: number): SetAttempt {
    const bytes = Buffer.byteLength(key) + Buffer.byteLength(value);
    return this.#transaction.run((): SetAttempt => {
      this.#addNamespace.run(namespace);
      const { id, bytes: usedBytes } = this.#findNamespace.get(namespace) as { id: number; bytes: number };
      const old = this.#find.get(namespace, key) as EntryRow | undefined;
      if (!holds(condition, live(old, nowMs))) return { kind: "unmatched" };
      const moreBytes = charged(bytes) - (old === undefined ? 0 : charged(old.bytes));
      if (moreBytes > 0 && usedBytes + moreBytes > quotaBytes) {
        if (this.#sweep.run(nowMs).changes > 0) return { kind: "swept" };
        return { kind: "full", usedBytes, moreBytes };
      }
      const { version } = this.#nextVersion.get(id) as { version: number };
      this.#put.run(id, key, version, bytes, ttlMs === null ? null : nowMs + ttlMs, value);
      return { kind: "set", version };
    });
  }

  /** Returns whether an entry was deleted. */
  delete(namespace: string, key: string, condition: Condition, nowMs: number): boolean {
    return this.#transaction.run(() => {
      const old = live(this.#find.get(namespace, key) as EntryRow | undefined, nowMs);
      if (old === undefined || !holds(condition, old)) return false;
      this.#delete.run(namespace, key);
      return true;
    });
  }

  /** Lists keys in the order of their UTF-8 bytes. */
  list(namespace: string, { prefix, after, limit }: PageRequest, nowMs: number): Page {
    const keys: ListedKey[] = [];
    let last = after;
    let expired = 0;
    for (const each of this.#list.iterate(namespace, prefix, after, after)) {
      const { key, version, bytes, expires_ms: expiresAt } = each as unknown as EntryRow;
      // Keys with the same prefix are adjacent.
      if (!key.startsWith(prefix)) break;
      if (keys.length === limit || expired === EXPIRED_MAX) return { keys, cursor: last };
      last = key;
      if (expiresAt === null || expiresAt > nowMs) keys.push({ key, version, bytes, expiresAt });
      else expired++;
    }
    return { keys, cursor: null };
  }

  /** Removes some of the expired entries from the file; returns their number. */
  sweep(nowMs: number): number {
    return Number(this.#sweep.run(nowMs).changes);
  }
}

function live(entry: EntryRow | undefined, nowMs: number): EntryRow | undefined {
  return entry === undefined || (entry.expires_ms !== null && entry.expires_ms <= nowMs) ? undefined : entry;
}

function holds(condition: Condition, entry: EntryRow | undefined): boolean {
  switch (condition.kind) {
    case "always":
      return true;
    case "absent":
      return entry === undefined;
    case "version":
      return entry?.version === condition.version;
  }
}

/** Bytes that an entry counts for in the quota. */
function charged(bytes: number): number {
  return Math.max(bytes, ENTRY_LEAST_BYTES);
}
