import { setTimeout as delay } from "node:timers/promises";
import type { DatabaseSync } from "node:sqlite";
import PQueue from "p-queue";
import type { CapabilityCall } from "../capability.ts";
import { Entries, SWEPT_MAX } from "./entries.ts";
import { describeFailure, isBusy, isPassing, StoreError } from "./failure.ts";
import { createFile, layOut } from "./layout.ts";

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

/** Something to do with the entries, in one go. */
export type Operation<T> = (entries: Entries, nowMs: number) => T | typeof AGAIN;

export interface StoreOptions {
  /** An absolute path, or `:memory:`. */
  readonly path: string;
  /** What the file may grow to. */
  readonly maxBytes: number;
}

interface Opened {
  readonly database: DatabaseSync;
  readonly entries: Entries;
}

/**
 * A database that is opened when it is first used. Operations are short and done in the thread that asks. What has to
 * wait for another process waits in line, without keeping the thread: SQLite's own waiting would.
 */
export class Store {
  readonly #options: StoreOptions;
  readonly #line = new PQueue({ concurrency: 1 });
  #opened: Opened | null = null;
  #sweeping: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  /** Throws a `StoreError`, at once or later, where the store cannot do it. What waits is not done for a call that has ended. */
  use<T>(call: CapabilityCall, operation: Operation<T>): T | Promise<T> {
    if (this.#opened !== null && this.#line.pending === 0) {
      const done = this.#try(this.#opened, operation);
      if (done !== AGAIN) return done;
    }
    if (this.#line.size >= WAITING_MAX) throw new StoreError("too much waits for the store already");
    const untilMs = performance.now() + WAIT_MS;
    const { signal } = call;
    return this.#line.add(() => this.#persist(operation, untilMs, signal));
  }

  close(): void {
    this.#isClosed = true;
    this.#forget();
  }

  async #persist<T>(operation: Operation<T>, untilMs: number, signal: AbortSignal): Promise<T> {
    for (;;) {
      if (signal.aborted) throw new StoreError("the call has ended");
      const opened = this.#opened ?? (await this.#open());
      const done = opened === AGAIN ? AGAIN : this.#try(opened, operation);
      if (done !== AGAIN) return done;
      if (performance.now() > untilMs)
        throw new StoreError("the store is in use by others for too long: try again later");
      await delay(PAUSE_MS * Math.random());
    }
  }

  #try<T>(opened: Opened, operation: Operation<T>): T | typeof AGAIN {
    try {
      return operation(opened.entries, Date.now());
    } catch (error) {
      if (isBusy(error)) return AGAIN;
      // Whoever mends the file need not start the engine again.
      if (!isPassing(error)) this.#forget();
      throw describeFailure(error);
    }
  }

  async #open(): Promise<Opened | typeof AGAIN> {
    // It is loaded here because most engines do without it.
    const { DatabaseSync } = await import("node:sqlite");
    if (this.#isClosed) throw new StoreError("the engine has closed");
    let database: DatabaseSync | undefined;
    try {
      createFile(this.#options.path);
      database = new DatabaseSync(this.#options.path, { timeout: 0 });
      layOut(database, this.#options.maxBytes);
      this.#opened = { database, entries: new Entries(database) };
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
      swept = this.#opened.entries.sweep(Date.now());
    } catch {
      // Whoever uses the store next is told, if it is more than a busy moment.
    }
    this.#sweepLater(swept === SWEPT_MAX ? SWEEP_ON_MS : SWEEP_EVERY_MS);
  }
}
