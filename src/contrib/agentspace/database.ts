import type { DatabaseSync } from "node:sqlite";
import { describeFailure } from "../../kernel/store/sqlite/failure.ts";
import { createFile, type DatabaseLayout, layOut } from "../../kernel/store/sqlite/layout.ts";
import { type Prepare, prepareOnce } from "../../kernel/store/sqlite/statements.ts";

/** Time to wait for another process's write, in milliseconds. Writes are rare, and a few rows each. */
const WAIT_MS = 2_000;

/** SQLite database of one part of AgentSpace's registry. */
export class Database implements Disposable {
  readonly #database: DatabaseSync;
  readonly #prepare: Prepare;

  private constructor(database: DatabaseSync) {
    this.#database = database;
    this.#prepare = prepareOnce(database);
  }

  /** Opens a file, and creates it if missing. Rejects with a `StoreError` that names no path. */
  static async open(path: string, maxBytes: number, layout: DatabaseLayout): Promise<Database> {
    // Loaded lazily: few importers of this module store records.
    const { DatabaseSync } = await import("node:sqlite");
    let database: DatabaseSync | undefined;
    try {
      createFile(path);
      database = new DatabaseSync(path, { timeout: WAIT_MS });
      layOut(database, maxBytes, layout);
      return new Database(database);
    } catch (error) {
      if (database?.isOpen === true) database.close();
      throw describeFailure(error);
    }
  }

  /** Rows of a query. Each of the few statements is prepared once. Throws a `StoreError`. */
  rows(sql: string, ...values: (string | number | null)[]): readonly Record<string, unknown>[] {
    return this.#run(() => this.#prepare(sql).all(...values));
  }

  /** Runs `work` in a transaction without concurrent writers. Rethrows the errors of `work`. */
  write<T>(work: () => T): T {
    this.#run(() => this.#database.exec("BEGIN IMMEDIATE"));
    try {
      const done = work();
      this.#run(() => this.#database.exec("COMMIT"));
      return done;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #run<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw describeFailure(error);
    }
  }
}
