import type { DatabaseSync } from "node:sqlite";
import { ENTRY_LEAST_BYTES, KV_LAYOUT } from "../../../store/sqlite/layout.ts";
import { prepareAll, type Statements } from "../../../store/sqlite/statements.ts";
import { AGAIN, SqliteStore, type StoreOptions, SWEPT_MAX, SqliteTransaction } from "../../../store/sqlite/store.ts";
import {
  type StoreCaller,
  type Condition,
  type DeletedEntry,
  type KvStore,
  type ListedKey,
  NAMES_KEPT_MS,
  NAMES_MAX,
  type NewEntry,
  type Page,
  type PageRequest,
  type SetOutcome,
  type StoredEntry,
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

  delete(caller: StoreCaller, namespace: string, entry: DeletedEntry): boolean | Promise<boolean> {
    return this.#store.use(caller, (entries, nowMs) => entries.delete(namespace, entry, nowMs));
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

/** Named writes with their outcomes. Files of earlier engines lack the table, and later engines may ignore it. */
const NAMED_SQL = `
  CREATE TABLE IF NOT EXISTS named (
    n INTEGER PRIMARY KEY, namespace INTEGER NOT NULL, name TEXT NOT NULL, done_ms INTEGER NOT NULL, outcome TEXT NOT NULL,
    UNIQUE (namespace, name)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS named_order ON named (namespace, n);
`;
/** Number of named writes between two removals of a namespace's oldest ones. */
const NAMES_BETWEEN = 256;

const STATEMENTS = {
  get: `SELECT value, version, expires_ms AS expiresAt FROM entry
    WHERE namespace = ${NAMESPACE} AND key = ? AND (expires_ms IS NULL OR expires_ms > ?)`,
  find: `SELECT version, bytes, expires_ms FROM entry WHERE namespace = ${NAMESPACE} AND key = ?`,
  list: `SELECT key, version, bytes, expires_ms FROM entry
    WHERE namespace = ${NAMESPACE} AND key >= max(?, ?) AND key <> ? ORDER BY key`,
  addNamespace: "INSERT INTO namespace (name) VALUES (?) ON CONFLICT DO NOTHING",
  findNamespace: "SELECT id, bytes FROM namespace WHERE name = ?",
  nextVersion: "UPDATE namespace SET version = version + 1 WHERE id = ? RETURNING version",
  put: `INSERT INTO entry (namespace, key, version, bytes, expires_ms, value) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET version = excluded.version, bytes = excluded.bytes,
      expires_ms = excluded.expires_ms, value = excluded.value`,
  delete: `DELETE FROM entry WHERE namespace = ${NAMESPACE} AND key = ?`,
  sweep: `DELETE FROM entry WHERE id IN (SELECT id FROM entry WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ${SWEPT_MAX})`,
  findNamed: `SELECT outcome FROM named WHERE namespace = ${NAMESPACE} AND name = ?`,
  addNamed: `INSERT INTO named (namespace, name, done_ms, outcome) VALUES (${NAMESPACE}, ?, ?, ?)`,
  trimNamed: `DELETE FROM named WHERE namespace = ${NAMESPACE} AND n <=
    (SELECT n FROM named WHERE namespace = ${NAMESPACE} ORDER BY n DESC LIMIT 1 OFFSET ${NAMES_MAX})`,
  sweepNamed: `DELETE FROM named WHERE n IN (SELECT n FROM named ORDER BY n LIMIT ${SWEPT_MAX}) AND done_ms < ?`,
};

/** Entries of a database, by namespace. A namespace is any text, and empty until something is written to it. */
export class SqliteEntries {
  readonly #transaction: SqliteTransaction;
  readonly #sql: Statements<keyof typeof STATEMENTS>;

  constructor(database: DatabaseSync) {
    database.exec(NAMED_SQL);
    this.#transaction = new SqliteTransaction(database);
    this.#sql = prepareAll(database, STATEMENTS);
  }

  get(namespace: string, key: string, nowMs: number): StoredEntry | null {
    return (this.#sql.get.get(namespace, key, nowMs) as StoredEntry | undefined) ?? null;
  }

  set(namespace: string, { key, value, ttlMs, condition, quotaBytes, once }: NewEntry, nowMs: number): SetAttempt {
    const bytes = Buffer.byteLength(key) + Buffer.byteLength(value);
    const set = (): SetAttempt => {
      this.#sql.addNamespace.run(namespace);
      const { id, bytes: usedBytes } = this.#sql.findNamespace.get(namespace) as { id: number; bytes: number };
      const old = this.#sql.find.get(namespace, key) as EntryRow | undefined;
      if (!holds(condition, live(old, nowMs))) return { kind: "unmatched" };
      const moreBytes = charged(bytes) - (old === undefined ? 0 : charged(old.bytes));
      if (moreBytes > 0 && usedBytes + moreBytes > quotaBytes) {
        if (this.#sql.sweep.run(nowMs).changes > 0) return { kind: "swept" };
        return { kind: "full", usedBytes, moreBytes };
      }
      const { version } = this.#sql.nextVersion.get(id) as { version: number };
      this.#sql.put.run(id, key, version, bytes, ttlMs === null ? null : nowMs + ttlMs, value);
      return { kind: "set", version };
    };
    const isDone = ({ kind }: SetAttempt): boolean => kind === "set" || kind === "unmatched";
    return this.#transaction.run(() => this.#once({ namespace, once, nowMs }, set, isDone));
  }

  /** Returns whether an entry was deleted. */
  delete(namespace: string, { key, condition, once }: DeletedEntry, nowMs: number): boolean {
    const remove = (): boolean => {
      const old = live(this.#sql.find.get(namespace, key) as EntryRow | undefined, nowMs);
      if (old === undefined || !holds(condition, old)) return false;
      this.#sql.delete.run(namespace, key);
      return true;
    };
    return this.#transaction.run(() => this.#once({ namespace, once, nowMs }, remove, () => true));
  }

  /** Does a named write once: a repetition has the outcome of the first. */
  #once<Outcome>(
    {
      namespace,
      once,
      nowMs,
    }: { readonly namespace: string; readonly once: string | undefined; readonly nowMs: number },
    write: () => Outcome,
    isDone: (outcome: Outcome) => boolean,
  ): Outcome {
    if (once === undefined) return write();
    const known = this.#sql.findNamed.get(namespace, once) as { readonly outcome: string } | undefined;
    if (known !== undefined) return JSON.parse(known.outcome) as Outcome;
    const outcome = write();
    if (!isDone(outcome)) return outcome;
    this.#sql.addNamespace.run(namespace);
    const { lastInsertRowid } = this.#sql.addNamed.run(namespace, once, nowMs, JSON.stringify(outcome));
    if (Number(lastInsertRowid) % NAMES_BETWEEN === 0) this.#sql.trimNamed.run(namespace, namespace);
    return outcome;
  }

  /** Lists keys in the order of their UTF-8 bytes. */
  list(namespace: string, { prefix, after, limit }: PageRequest, nowMs: number): Page {
    const keys: ListedKey[] = [];
    let last = after;
    let expired = 0;
    for (const each of this.#sql.list.iterate(namespace, prefix, after, after)) {
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
    this.#sql.sweepNamed.run(nowMs - NAMES_KEPT_MS);
    return Number(this.#sql.sweep.run(nowMs).changes);
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
