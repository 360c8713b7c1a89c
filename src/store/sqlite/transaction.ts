import type { DatabaseSync, StatementSync } from "node:sqlite";

/** What is written to a database as a whole or not at all. */
export class Transaction {
  readonly #database: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#commit = database.prepare("COMMIT");
  }

  /** Nobody else writes between what is read in it and what is written. */
  run<T>(work: () => T): T {
    this.#begin.run();
    try {
      const done = work();
      this.#commit.run();
      return done;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }
}
