import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import PQueue from "p-queue";
import { StoreError } from "../../base/errors.ts";
import { describeFailure, isBusy, isPassing } from "./failure.ts";
import { createFile, type DatabaseLayout, layOut } from "./layout.ts";

/** Maximum wait while other connections write. */
const WAIT_MS = 2_000;
const PAUSE_MS = 5;
/** Maximum number of waiting operations. */
const WAITING_MAX = 10_000;
const SWEEP_EVERY_MS = 30_000;
/** Pause after a sweep that left expired rows. */
const SWEEP_ON_MS = 50;

/** Returned by an operation that has done nothing yet, to be retried. */
export const AGAIN = Symbol("again");

/** An operation on the tables, run synchronously. */
type StoreOperation<Tables, T> = (tables: Tables, nowMs: number) => T | typeof AGAIN;

/** Schema and tables of a store. */
interface StoreContents<Tables extends ExpiringTables> {
  readonly layout: DatabaseLayout;
  /** Prepares the statements on a connection. */
  readonly open: (database: DatabaseSync) => Tables;
}

/** Tables whose rows expire. */
interface ExpiringTables {
  /** Removes some expired rows from the file; returns their number, at most `SWEPT_MAX`. */
  sweep(nowMs: number): number;
}

/** Maximum expired rows removed by one sweep. */
export const SWEPT_MAX = 100;

export interface StoreOptions {
  /** An absolute path, or `:memory:`. */
  readonly path: string;
  /** Maximum size of the file. */
  readonly maxBytes: number;
}

interface OpenDatabase<Tables> {
  readonly database: DatabaseSync;
  readonly tables: Tables;
}

/**
 * A database that is opened when first used. Operations are short and run synchronously on the calling thread.
 * Operations that have to wait for another process are queued, because SQLite's own waiting would block the thread.
 */
export class SqliteStore<Tables extends ExpiringTables> {
  readonly #options: StoreOptions;
  readonly #contents: StoreContents<Tables>;
  readonly #line = new PQueue({ concurrency: 1 });
  #opened: OpenDatabase<Tables> | null = null;
  #sweeping: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: StoreOptions, contents: StoreContents<Tables>) {
    this.#options = options;
    this.#contents = contents;
  }

  /**
   * Runs an operation. Throws a `StoreError`, synchronously or as a rejection, if the store fails. A waiting operation
   * is dropped when its call has ended.
   */
  use<T>(call: { readonly signal: AbortSignal }, operation: StoreOperation<Tables, T>): T | Promise<T> {
    if (this.#opened !== null && this.#line.pending === 0) {
      const done = this.#try(this.#opened, operation);
      if (done !== AGAIN) return done;
    }
    if (this.#line.size >= WAITING_MAX) throw new StoreError("too many operations wait for the store");
    const untilMs = performance.now() + WAIT_MS;
    const { signal } = call;
    return this.#line.add(() => this.#persist(operation, untilMs, signal));
  }

  close(): void {
    this.#isClosed = true;
    this.#forget();
  }

  async #persist<T>(operation: StoreOperation<Tables, T>, untilMs: number, signal: AbortSignal): Promise<T> {
    for (;;) {
      if (signal.aborted) throw new StoreError("the call has ended");
      const opened = this.#opened ?? (await this.#open());
      const done = opened === AGAIN ? AGAIN : this.#try(opened, operation);
      if (done !== AGAIN) return done;
      if (performance.now() > untilMs) throw new StoreError("the store is busy: try again later");
      await delay(PAUSE_MS * Math.random());
    }
  }

  #try<T>(opened: OpenDatabase<Tables>, operation: StoreOperation<Tables, T>): T | typeof AGAIN {
    try {
      return operation(opened.tables, Date.now());
    } catch (error) {
      if (isBusy(error)) return AGAIN;
      // Close the database, so that the engine needs no restart after the file is repaired.
      if (!isPassing(error)) this.#forget();
      throw describeFailure(error);
    }
  }

  async #open(): Promise<OpenDatabase<Tables> | typeof AGAIN> {
    // Loaded lazily, because most engines do not use SQLite.
    const { DatabaseSync } = await import("node:sqlite");
    if (this.#isClosed) throw new StoreError("the engine has closed");
    let database: DatabaseSync | undefined;
    try {
      createFile(this.#options.path);
      database = new DatabaseSync(this.#options.path, { timeout: 0 });
      layOut(database, this.#options.maxBytes, this.#contents.layout);
      this.#opened = { database, tables: this.#contents.open(database) };
    } catch (error) {
      if (database?.isOpen === true) database.close();
      if (isBusy(error)) return AGAIN;
      throw describeFailure(error);
    }
    this.#sweepLater(SWEEP_EVERY_MS);
    return this.#opened;
  }

  #forget(): void {
    clearTimeout(this.#sweeping);
    const database = this.#opened?.database;
    this.#opened = null;
    try {
      database?.close();
    } catch {
      // A broken database may fail to close.
    }
  }

  #sweepLater(ms: number): void {
    this.#sweeping = setTimeout(() => this.#sweep(), ms).unref();
  }

  #sweep(): void {
    if (this.#opened === null) return;
    let swept = 0;
    try {
      swept = this.#opened.tables.sweep(Date.now());
    } catch {
      // The next user of the store gets the error, unless it was temporary.
    }
    this.#sweepLater(swept === SWEPT_MAX ? SWEEP_ON_MS : SWEEP_EVERY_MS);
  }
}

/** Runs atomic transactions on a database. */
export class SqliteTransaction {
  readonly #database: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#commit = database.prepare("COMMIT");
  }

  /** Runs `work` in a write transaction: no other connection writes between its reads and writes. */
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

  /** The same, and written to disk before it returns: a loss of power undoes nothing. */
  runLasting<T>(work: () => T): T {
    this.#database.exec("PRAGMA synchronous = FULL");
    try {
      return this.run(work);
    } finally {
      this.#database.exec("PRAGMA synchronous = NORMAL");
    }
  }
}
