/** SQLite in a thread behind a MessagePort, with the engine's own statements: what a store out of the way costs. */
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { SqliteEntries } from "../../src/kernel/broker/capabilities/kv/sqlite-store.ts";
import { layOut } from "../../src/kernel/store/sqlite/layout.ts";

const QUOTA_BYTES = 64 * 1024 * 1024;

export class SqliteWorker implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #waiting: ((value: string) => void)[] = [];

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on("message", (value: string) => this.#waiting.shift()?.(value));
  }

  /** The database has the entry `k` with the value 1. */
  static async start(path: string): Promise<SqliteWorker> {
    const worker = new Worker(new URL(import.meta.url), { workerData: path });
    await once(worker, "online");
    return new SqliteWorker(worker);
  }

  async get(key: string): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#waiting.push(resolve);
    this.#worker.postMessage(key);
    return Number(JSON.parse(await promise));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

if (!isMainThread && typeof workerData === "string") {
  const database = new DatabaseSync(workerData);
  layOut(database, QUOTA_BYTES);
  const entries = new SqliteEntries(database);
  const condition = { kind: "always" } as const;
  entries.set("alone", { key: "k", value: "1", ttlMs: null, condition, quotaBytes: QUOTA_BYTES }, Date.now());
  parentPort?.on("message", (key: string) =>
    parentPort?.postMessage(entries.get("alone", key, Date.now())?.value ?? "0"),
  );
}
