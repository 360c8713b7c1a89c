import { readFileSync, writeSync } from "node:fs";
import type { KvStore, OpenKvStore } from "../../../../src/kernel/broker/capabilities/kv/kv-store.ts";
import { SqliteKvStore } from "../../../../src/kernel/broker/capabilities/kv/sqlite-store.ts";

/** A store that says the line of a file once it has written, and never answers: its process is killed then. */
export const open: OpenKvStore = (own): KvStore => {
  const { path, said } = own as { readonly path: string; readonly said: string };
  const store = new SqliteKvStore({ path, maxBytes: 16 * 1024 * 1024 });
  return {
    get: (...asked) => store.get(...asked),
    set: async (...asked) => {
      await store.set(...asked);
      writeSync(1, readFileSync(said));
      return new Promise(() => undefined);
    },
    delete: (...asked) => store.delete(...asked),
    list: (...asked) => store.list(...asked),
    close: () => store.close(),
  };
};
