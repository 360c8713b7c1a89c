import { Entries } from "./entries.ts";
import type { Asker, Condition, KvStore, NewEntry, Page, PageRequest, SetOutcome, StoredEntry } from "./kv-store.ts";
import { KV_LAYOUT } from "../../../store/sqlite/layout.ts";
import { AGAIN, Store, type StoreOptions } from "../../../store/sqlite/store.ts";

/** Entries in a file of SQLite, or in memory. */
export class SqliteKvStore implements KvStore {
  readonly #store: Store<Entries>;

  constructor(options: StoreOptions) {
    this.#store = new Store(options, { layout: KV_LAYOUT, open: (database) => new Entries(database) });
  }

  get(asker: Asker, namespace: string, key: string): StoredEntry | null | Promise<StoredEntry | null> {
    return this.#store.use(asker, (entries, nowMs) => entries.get(namespace, key, nowMs));
  }

  set(asker: Asker, namespace: string, entry: NewEntry): SetOutcome | Promise<SetOutcome> {
    return this.#store.use<SetOutcome>(asker, (entries, nowMs) => {
      const outcome = entries.set(namespace, entry, nowMs);
      return outcome.kind === "swept" ? AGAIN : outcome;
    });
  }

  delete(asker: Asker, namespace: string, key: string, condition: Condition): boolean | Promise<boolean> {
    return this.#store.use(asker, (entries, nowMs) => entries.delete(namespace, key, condition, nowMs));
  }

  list(asker: Asker, namespace: string, request: PageRequest): Page | Promise<Page> {
    return this.#store.use(asker, (entries, nowMs) => entries.list(namespace, request, nowMs));
  }

  close(): void {
    this.#store.close();
  }
}
