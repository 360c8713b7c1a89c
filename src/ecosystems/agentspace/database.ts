import type { DatabaseSync, StatementSync } from "node:sqlite";
import { describeFailure } from "../../store/sqlite/failure.ts";
import { createFile, type DatabaseLayout, layOut } from "../../store/sqlite/layout.ts";

/** How long another process's writing is waited for. Writes are rare, and a few rows each. */
const WAIT_MS = 2_000;

/** A database of rows that outlive the process, kept by one part of AgentSpace's registry. */
export class Database implements Disposable {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Opens a file, and creates it if missing. Rejects with a `StoreError` that names no path. */
  static async open(path: string, maxBytes: number, layout: DatabaseLayout): Promise<Database> {
    // It is loaded here because few who import this keep records.
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

  /** The rows of a query; queries are few, and each is prepared once. Throws a `StoreError`. */
  rows(sql: string, ...values: (string | number | null)[]): readonly Record<string, unknown>[] {
    return this.#run(() => {
      const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
      this.#statements.set(sql, statement);
      return statement.all(...values);
    });
  }

  /** Does all of it or nothing of it, with nobody else writing meanwhile. What `work` throws goes through. */
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

  /** Changes whenever anybody has written: by another connection, or by this one. */
  state(): string {
    const [row] = this.rows("SELECT data_version, total_changes() AS changes FROM pragma_data_version");
    return JSON.stringify(row);
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
