import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import PQueue from "p-queue";
import { StoreError } from "../../base/errors.ts";
import { describeFailure, isBusy, isPassing } from "./failure.ts";
import { createFile, type DatabaseLayout, layOut } from "./layout.ts";

/** How long somebody else's writing is waited for. */
const WAIT_MS = 2_000;
const PAUSE_MS = 5;
/** Operations that may wait at once. */
const WAITING_MAX = 10_000;
const SWEEP_EVERY_MS = 30_000;
/** Where one step did not reach. */
const SWEEP_ON_MS = 50;

/** Nothing was done yet: try once more. */
export const AGAIN = Symbol("again");

/** Something to do with the tables, in one go. */
type StoreOperation<Tables, T> = (tables: Tables, nowMs: number) => T | typeof AGAIN;

/** What is in a store. */
interface StoreContents<Tables extends ExpiringTables> {
  readonly layout: DatabaseLayout;
  /** Readies the statements for a connection to it. */
  readonly open: (database: DatabaseSync) => Tables;
}

/** Tables whose rows expire. */
interface ExpiringTables {
  /** Takes some of what has expired out of the file; answers how many, `SWEPT_MAX` at most. */
  sweep(nowMs: number): number;
}

/** Expired rows that one step takes out of the file. */
export const SWEPT_MAX = 100;

export interface StoreOptions {
  /** An absolute path, or `:memory:`. */
  readonly path: string;
  /** What the file may grow to. */
  readonly maxBytes: number;
}

interface OpenDatabase<Tables> {
  readonly database: DatabaseSync;
  readonly tables: Tables;
}

/**
 * A database that is opened when it is first used. Operations are short and done in the thread that asks. What has to
 * wait for another process waits in line, without keeping the thread: SQLite's own waiting would.
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

  /** Throws a `StoreError`, at once or later, where the store cannot do it. What waits is not done for a call that has ended. */
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
      // Whoever mends the file need not start the engine again.
      if (!isPassing(error)) this.#forget();
      throw describeFailure(error);
    }
  }

  async #open(): Promise<OpenDatabase<Tables> | typeof AGAIN> {
    // It is loaded here because most engines do without it.
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
      // What is broken may not even close.
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
      // Whoever uses the store next is told, if it is more than a busy moment.
    }
    this.#sweepLater(swept === SWEPT_MAX ? SWEEP_ON_MS : SWEEP_EVERY_MS);
  }
}

/** What is written to a database as a whole or not at all. */
export class SqliteTransaction {
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
