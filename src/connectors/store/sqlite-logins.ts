import type { DatabaseSync } from "node:sqlite";
import type { DatabaseLayout } from "../../kernel/store/sqlite/layout.ts";
import { prepareAll, type Statements } from "../../kernel/store/sqlite/statements.ts";
import { SqliteStore, SqliteTransaction } from "../../kernel/store/sqlite/store.ts";
import type { LoginClaim, LoginHolder, LoginTable, StoredLogin } from "./login-table.ts";

/** `applicationId` is "GbLg" in ASCII. */
const LAYOUT: DatabaseLayout = {
  applicationId: 0x47_62_4c_67,
  version: 1,
  sql: `CREATE TABLE login (
    key TEXT PRIMARY KEY,
    version INTEGER NOT NULL DEFAULT 0,
    text TEXT,
    owner TEXT,
    lease_ms INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;`,
};
const MAX_BYTES = 1024 ** 3;
const ALWAYS = new AbortController().signal;

interface LoginRow {
  readonly version: number;
  readonly text: string | null;
  readonly owner: string | null;
  readonly lease_ms: number;
}

/** Logins in a file that processes of one machine share. */
export class SqliteLogins implements LoginTable {
  readonly #store: SqliteStore<LoginRows>;

  constructor(path: string) {
    this.#store = new SqliteStore(
      { path, maxBytes: MAX_BYTES },
      { layout: LAYOUT, open: (database) => new LoginRows(database) },
    );
  }

  read(key: string): Promise<StoredLogin | null> {
    return this.#use((rows) => rows.read(key));
  }

  claim(key: string, owner: string, leaseMs: number): Promise<LoginClaim> {
    return this.#use((rows, nowMs) => rows.claim(key, owner, { nowMs, leaseMs }));
  }

  extend(key: string, owner: string, leaseMs: number): Promise<boolean> {
    return this.#use((rows, nowMs) => rows.extend(key, owner, nowMs + leaseMs));
  }

  write(key: string, holder: LoginHolder | null, text: string): Promise<number | null> {
    return this.#use((rows) => rows.write(key, holder, text));
  }

  remove(key: string): Promise<boolean> {
    return this.#use((rows) => rows.remove(key));
  }

  release(key: string, owner: string): Promise<void> {
    return this.#use((rows) => rows.release(key, owner));
  }

  close(): Promise<void> {
    this.#store.close();
    return Promise.resolve();
  }

  #use<Value>(operation: (rows: LoginRows, nowMs: number) => Value): Promise<Value> {
    return Promise.try(() => this.#store.use({ signal: ALWAYS }, operation));
  }
}

const STATEMENTS = {
  find: "SELECT version, text, owner, lease_ms FROM login WHERE key = ?",
  add: "INSERT INTO login (key) VALUES (?) ON CONFLICT DO NOTHING",
  claim: "UPDATE login SET owner = ?, lease_ms = ? WHERE key = ?",
  extend: "UPDATE login SET lease_ms = ? WHERE key = ? AND owner = ?",
  write: `INSERT INTO login (key, version, text) VALUES (?, 1, ?)
    ON CONFLICT DO UPDATE SET version = version + 1, text = excluded.text, owner = NULL, lease_ms = 0
    RETURNING version`,
  remove: "UPDATE login SET version = version + 1, text = NULL WHERE key = ? AND text IS NOT NULL",
  release: "UPDATE login SET owner = NULL, lease_ms = 0 WHERE key = ? AND owner = ?",
};

class LoginRows {
  readonly #transaction: SqliteTransaction;
  readonly #sql: Statements<keyof typeof STATEMENTS>;

  constructor(database: DatabaseSync) {
    // The server has revoked the old refresh token when this one is written: it has to survive a power failure.
    database.exec("PRAGMA synchronous = FULL");
    this.#transaction = new SqliteTransaction(database);
    this.#sql = prepareAll(database, STATEMENTS);
  }

  read(key: string): StoredLogin | null {
    const row = this.#row(key);
    return row === undefined || row.text === null ? null : { version: row.version, text: row.text };
  }

  claim(
    key: string,
    owner: string,
    { nowMs, leaseMs }: { readonly nowMs: number; readonly leaseMs: number },
  ): LoginClaim {
    return this.#transaction.run(() => {
      this.#sql.add.run(key);
      const row = this.#row(key);
      // A lease that lasts longer than any does was made by a clock that was wrong.
      const leftMs = (row?.lease_ms ?? 0) - nowMs;
      const isHeld = row?.owner === null || row?.owner === owner || leftMs <= 0 || leftMs > 2 * leaseMs;
      if (isHeld) this.#sql.claim.run(owner, nowMs + leaseMs, key);
      return { isHeld, version: row?.version ?? 0, login: this.read(key) };
    });
  }

  extend(key: string, owner: string, untilMs: number): boolean {
    return this.#sql.extend.run(untilMs, key, owner).changes === 1;
  }

  write(key: string, holder: LoginHolder | null, text: string): number | null {
    return this.#transaction.run(() => {
      if (holder !== null && this.#row(key)?.version !== holder.version) return null;
      const { version } = this.#sql.write.get(key, text) as { readonly version: number };
      return version;
    });
  }

  remove(key: string): boolean {
    return this.#sql.remove.run(key).changes === 1;
  }

  release(key: string, owner: string): void {
    this.#sql.release.run(key, owner);
  }

  /** Logins do not expire: a refresh token may be valid for a year, which only its server can tell. */
  sweep(): number {
    return 0;
  }

  #row(key: string): LoginRow | undefined {
    return this.#sql.find.get(key) as LoginRow | undefined;
  }
}
