import { Worker } from "node:worker_threads";
import { inTime } from "../../../kernel/base/deadline.ts";
import { RegistryError } from "../records.ts";
import type { Found, FromThread, IndexedRecord, Query, ToThread } from "./record-index.ts";

/** Source of the records to be found. */
interface IndexSource {
  /** Records of all tenants, ordered by revision, after a revision. */
  indexedAfter(revision: number, most: number): readonly IndexedRecord[];
  /** The highest revision in force; 0 without any. */
  latest(): number;
  count(): number;
}

/** Waiting searches of all tenants, and of one: each may take the thread a second. */
const WAITING_MAX = 64;
const WAITING_OF_TENANT_MAX = 8;
/** Records in one message: reading and sending so many takes this thread about a millisecond. */
const BATCH = 64;
/** Maximum time of a search, including the update of the index, in milliseconds. */
const SEARCH_MS = 10_000;
/** Memory of the index of the most records that a registry may have. */
const HEAP_MB = 1_024;
/** Number of records no longer in force, and not met by a search, after which the index is rebuilt. */
const STALE_MAX = 1_000;
const BUSY = "too many searches are waiting; try again later";
const LATE = "the search took too long; the index may still be built: try again later";
const ENDED = "the search's thread ended; try again";

interface Waiting {
  readonly resolve: (found: readonly Found[]) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The index of a registry's records, on a thread of its own: building it takes seconds, and a query of many words a
 * tenth of one. It follows changes of the records by any process.
 */
export class SearchThread {
  readonly #source: IndexSource;
  readonly #answers = new Map<number, Waiting>();
  /** Number of waiting searches by tenant. */
  readonly #waiting = new Map<string, number>();
  #worker: Worker | null = null;
  #lastId = 0;
  /** The highest revision in the index. */
  #indexed = 0;
  /** Number of records in the index, those included that are no longer in force. */
  #size = 0;
  #refreshing: Promise<void> | null = null;

  constructor(source: IndexSource) {
    this.#source = source;
  }

  /** Records that match, best first. Some may no longer be in force. Rejects with a `RegistryError`: `busy`. */
  async find(query: Query): Promise<readonly Found[]> {
    const { tenant } = query;
    const waiting = this.#waiting.get(tenant) ?? 0;
    const all = [...this.#waiting.values()].reduce((sum, one) => sum + one, 0);
    if (waiting >= WAITING_OF_TENANT_MAX || all >= WAITING_MAX) throw new RegistryError("busy", BUSY);
    this.#waiting.set(tenant, waiting + 1);
    try {
      return await inTime(SEARCH_MS, this.#find(query), () => new RegistryError("busy", LATE));
    } finally {
      const left = (this.#waiting.get(tenant) ?? 1) - 1;
      if (left === 0) this.#waiting.delete(tenant);
      else this.#waiting.set(tenant, left);
    }
  }

  /** Removes a record that is no longer in force. */
  forget(revision: number): void {
    if (this.#worker === null || revision > this.#indexed) return;
    this.#size--;
    this.#worker.postMessage({ kind: "forget", id: 0, revision } satisfies ToThread);
  }

  close(): void {
    this.#end(new RegistryError("closed", "the registry is closed"));
  }

  async #find(query: Query): Promise<readonly Found[]> {
    if (this.#size > 2 * this.#source.count() + STALE_MAX) this.#end(new RegistryError("busy", ENDED));
    while (this.#worker === null || this.#source.latest() > this.#indexed) {
      await (this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = null)));
    }
    return this.#ask({ kind: "find", id: ++this.#lastId, query });
  }

  async #refresh(): Promise<void> {
    this.#worker ??= this.#start();
    for (;;) {
      const records = this.#source.indexedAfter(this.#indexed, BATCH);
      const last = records.at(-1);
      if (last === undefined) return;
      // Waiting for each batch keeps the thread's queue short.
      await this.#ask({ kind: "add", id: ++this.#lastId, records });
      this.#indexed = last.revision;
      this.#size += records.length;
    }
  }

  #start(): Worker {
    const entry = new URL(`./entry.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);
    const worker = new Worker(entry, {
      name: "glovebox-agentspace-search",
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
      env: {},
    });
    const end = (): void => {
      if (this.#worker === worker) this.#end(new RegistryError("busy", ENDED));
    };
    worker.on("error", end);
    worker.on("exit", end);
    worker.on("message", ({ id, found }: FromThread) => {
      this.#answers.get(id)?.resolve(found);
      this.#answers.delete(id);
    });
    // An embedder that closes no registry ends all the same. A search's deadline keeps the process.
    worker.unref();
    return worker;
  }

  #ask(message: ToThread): Promise<readonly Found[]> {
    return new Promise((resolve, reject) => {
      this.#answers.set(message.id, { resolve, reject });
      this.#worker?.postMessage(message);
    });
  }

  #end(error: Error): void {
    const worker = this.#worker;
    this.#worker = null;
    [this.#indexed, this.#size] = [0, 0];
    for (const { reject } of this.#answers.values()) reject(error);
    this.#answers.clear();
    void worker?.terminate();
  }
}
