import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";

/** Path of a store in memory, which ends with its engine. */
export const IN_MEMORY = ":memory:";

/** Schema of a new database, and the numbers that identify an existing one. */
export interface DatabaseLayout {
  /** SQLite's `application_id` of the file. */
  readonly applicationId: number;
  /** SQLite's `user_version`; incremented with each change of `sql`. */
  readonly version: number;
  /** SQL that creates the tables and triggers. */
  readonly sql: string;
  /** Earlier layouts, with the SQL that upgrades such a file to this one when it is opened. */
  readonly earlier?: readonly DatabaseLayout[];
  /** The reason for which such a file is not used, if it is not. */
  readonly refusal?: string;
}

const PAGE_BYTES = 4_096;
/** SQLite's own maximum. */
const PAGES_MAX = 4_294_967_294;
const WAL_KEPT_BYTES = 16 * 1024 * 1024;

/** Minimum bytes that an entry counts for: about the file space of a small entry. */
export const ENTRY_LEAST_BYTES = 64;

/**
 * Tables of the key-value store. Triggers keep the sums, so that no statement can change entries without them. Versions
 * count per namespace, not per key, so that a key which is deleted and set again never repeats a version. `value` is
 * the last column, so that reading the others does not read through it.
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

/** `applicationId` is "GbKv" in ASCII. */
export const KV_LAYOUT: DatabaseLayout = { applicationId: 0x47_62_4b_76, version: 1, sql: LAYOUT_SQL };

/** Thrown if the file is a database of another program or of another version. The file is not changed. */
export class ForeignStoreError extends Error {
  override readonly name = "ForeignStoreError";
}

/** Creates a missing file with mode 0600. SQLite gives the files beside it the same mode. */
export function createFile(path: string): void {
  if (path === IN_MEMORY) return;
  // If a file is in the place of the folder, opening reports ENOTDIR.
  unlessThere(() => mkdirSync(dirname(path), { recursive: true, mode: 0o700 }));
  unlessThere(() => {
    // Only create a new file: closing an existing one would release the locks that this process holds on it.
    closeSync(openSync(path, "wx", 0o600));
  });
  // SQLite gives no reason if it cannot open a file.
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new FolderError("a folder is in its place");
}

class FolderError extends Error {
  readonly code = "EISDIR";
}

function unlessThere(make: () => void): void {
  try {
    make();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Ending of the name of a damaged file that was moved aside. */
export const DAMAGED = ".corrupt";

/** Time at which a damaged file was moved aside from a path, in milliseconds since 1970; 0 if none exists. */
export function movedAsideMs(path: string): number {
  return path === IN_MEMORY ? 0 : Math.ceil(statSync(path + DAMAGED, { throwIfNoEntry: false })?.ctimeMs ?? 0);
}

/**
 * Settings with which each connection begins. A foreign file may contain triggers and views, which must not call
 * functions with effects. Temporary tables are small, and the store's folder may be the only writable one of a machine.
 */
export const CONNECTION_SETTINGS = "PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY";

/** Configures a connection, and creates the tables of an empty database. Several processes may do so at once. */
export function layOut(database: DatabaseSync, maxBytes: number, layout: DatabaseLayout = KV_LAYOUT): void {
  database.exec(CONNECTION_SETTINGS);
  const isDone = within(database, "BEGIN", () => sqlFor(database, layout) === null);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = ${WAL_KEPT_BYTES};
    PRAGMA max_page_count = ${Math.min(Math.floor(maxBytes / PAGE_BYTES), PAGES_MAX)}`);
  if (isDone) return;
  within(database, "BEGIN IMMEDIATE", () => {
    const sql = sqlFor(database, layout);
    if (sql === null) return;
    database.exec(`${sql}
      PRAGMA application_id = ${layout.applicationId}; PRAGMA user_version = ${layout.version};`);
  });
}

/** Checks a database that is only read. Throws a `ForeignStoreError` if it is not of this layout. */
export function requireLayout(database: DatabaseSync, layout: DatabaseLayout): void {
  database.exec(CONNECTION_SETTINGS);
  const refused = layout.earlier?.filter(({ refusal }) => refusal !== undefined);
  const sql = sqlFor(database, { ...layout, earlier: refused ?? [] });
  if (sql !== null) throw new ForeignStoreError("it is empty");
}

/**
 * Runs reads in a transaction, so that they are consistent while another process creates the tables of the same file.
 */
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

/**
 * SQL that upgrades a database to the layout; `null` if it has the layout. Throws if the database is neither empty nor
 * of this layout or an earlier one.
 */
function sqlFor(database: DatabaseSync, layout: DatabaseLayout): string | null {
  const application = numberOf(database, "PRAGMA application_id");
  const version = numberOf(database, "PRAGMA user_version");
  if (application === layout.applicationId && version === layout.version) return null;
  const earlier = layout.earlier?.find((one) => one.applicationId === application && one.version === version);
  if (earlier?.refusal !== undefined) throw new ForeignStoreError(earlier.refusal);
  if (earlier !== undefined) return earlier.sql;
  if (application === layout.applicationId) {
    const age = version > layout.version ? "a newer" : "an older";
    throw new ForeignStoreError(
      `${age} Glovebox has written it (its layout is ${version}, and this one reads ${layout.version}); run that version, or move the file away, which forgets what it holds`,
    );
  }
  if (application === 0 && version === 0 && numberOf(database, "SELECT count(*) FROM sqlite_schema") === 0)
    return layout.sql;
  throw new ForeignStoreError("it holds other data");
}

function numberOf(database: DatabaseSync, sql: string): number {
  const [first] = Object.values(database.prepare(sql).get() ?? {});
  return Number(first);
}
