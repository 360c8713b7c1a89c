import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";

/** A store that lives and ends with its engine. */
export const IN_MEMORY = ":memory:";

/** What is laid out in a database that is new, and what tells one that was. */
export interface DatabaseLayout {
  /** SQLite's `application_id` of such a file. */
  readonly applicationId: number;
  /** SQLite's `user_version`: counted up with each change of what follows. */
  readonly version: number;
  /** Its tables and triggers. */
  readonly sql: string;
}

const PAGE_BYTES = 4_096;
/** SQLite's own. */
const PAGES_MAX = 4_294_967_294;
const WAL_KEPT_BYTES = 16 * 1024 * 1024;

/** A small entry costs the file about this much, so it counts for no less. */
export const ENTRY_LEAST_BYTES = 64;

/**
 * Triggers keep the books: no statement can change entries and forget what their namespace holds. Versions count for a
 * namespace, not for a key, so that a key which is deleted and set again never has a version that it had before. The
 * value is a row's last column, so that what needs only the others does not read through it.
 */
const LAYOUT_SQL = `
  CREATE TABLE namespace (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE entry (
    id INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    expires_ms INTEGER,
    value TEXT NOT NULL,
    UNIQUE (namespace, key)
  ) STRICT;
  CREATE INDEX entry_expires ON entry (expires_ms) WHERE expires_ms IS NOT NULL;
  CREATE TRIGGER entry_inserted AFTER INSERT ON entry BEGIN
    UPDATE namespace SET bytes = bytes + max(new.bytes, ${ENTRY_LEAST_BYTES}) WHERE id = new.namespace;
  END;
  CREATE TRIGGER entry_updated AFTER UPDATE ON entry BEGIN
    UPDATE namespace SET bytes = bytes + max(new.bytes, ${ENTRY_LEAST_BYTES}) - max(old.bytes, ${ENTRY_LEAST_BYTES})
      WHERE id = new.namespace;
  END;
  CREATE TRIGGER entry_deleted AFTER DELETE ON entry BEGIN
    UPDATE namespace SET bytes = bytes - max(old.bytes, ${ENTRY_LEAST_BYTES}) WHERE id = old.namespace;
  END;
`;

/** Its id reads "GbKv". */
export const KV_LAYOUT: DatabaseLayout = { applicationId: 0x47_62_4b_76, version: 1, sql: LAYOUT_SQL };

/** The file is a database, but of somebody else or of another version of this engine. Nothing in it is changed. */
export class ForeignStoreError extends Error {
  override readonly name = "ForeignStoreError";
}

/** Creates a missing file with mode 0600. SQLite gives the files beside it the same mode. */
export function createFile(path: string): void {
  if (path === IN_MEMORY) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    // Only a file that is new: to close another would take away the locks that this process holds on it.
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Readies a connection; lays the database out where it is empty. Several processes may do so at once. */
export function layOut(database: DatabaseSync, maxBytes: number, layout: DatabaseLayout = KV_LAYOUT): void {
  // A file that came from elsewhere may hold triggers and views, which must not call what has effects.
  database.exec("PRAGMA trusted_schema = OFF");
  const isEmpty = within(database, "BEGIN", () => identify(database, layout));
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = ${WAL_KEPT_BYTES};
    PRAGMA max_page_count = ${Math.min(Math.floor(maxBytes / PAGE_BYTES), PAGES_MAX)}`);
  if (!isEmpty) return;
  within(database, "BEGIN IMMEDIATE", () => {
    if (!identify(database, layout)) return;
    database.exec(`${layout.sql}
      PRAGMA application_id = ${layout.applicationId}; PRAGMA user_version = ${layout.version};`);
  });
}

/** What is read in a transaction is of one moment, also while another process lays the same file out. */
function within<T>(database: DatabaseSync, begin: "BEGIN" | "BEGIN IMMEDIATE", work: () => T): T {
  database.exec(begin);
  try {
    const done = work();
    database.exec("COMMIT");
    return done;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** Answers whether the database is empty. Throws where it is neither that nor ours. */
function identify(database: DatabaseSync, layout: DatabaseLayout): boolean {
  const application = numberOf(database, "PRAGMA application_id");
  const version = numberOf(database, "PRAGMA user_version");
  if (application === layout.applicationId && version === layout.version) return false;
  if (application === layout.applicationId) {
    throw new ForeignStoreError(`its version is ${version}, and this engine supports version ${layout.version}`);
  }
  if (application === 0 && version === 0 && numberOf(database, "SELECT count(*) FROM sqlite_schema") === 0) return true;
  throw new ForeignStoreError("it holds other data");
}

function numberOf(database: DatabaseSync, sql: string): number {
  const [first] = Object.values(database.prepare(sql).get() ?? {});
  return Number(first);
}
