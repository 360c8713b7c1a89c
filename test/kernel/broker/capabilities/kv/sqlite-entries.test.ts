import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { SqliteEntries } from "../../../../../src/kernel/broker/capabilities/kv/sqlite-store.ts";
import { KV_LAYOUT, layOut } from "../../../../../src/kernel/store/sqlite/layout.ts";

const ALWAYS = { kind: "always" } as const;

/** Found by a review: one list walked 10,000 expired entries on the host's thread, and a tool asks for many. */
test("a page of a list passes a hundred expired entries at most, and the next one goes on behind them", () => {
  const database = new DatabaseSync(":memory:");
  layOut(database, 64 * 1024 * 1024, KV_LAYOUT);
  const entries = new SqliteEntries(database);
  const put = (key: string, ttlMs: number | null) =>
    entries.set("n", { key, value: "1", ttlMs, condition: ALWAYS, quotaBytes: 1e9 }, 0);
  for (let at = 0; at < 250; at++) put(`a${String(at).padStart(4, "0")}`, 10);
  put("b", null);
  const pages = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const page = entries.list("n", { prefix: "", after: cursor, limit: 100 }, 20);
    pages.push({ keys: page.keys.map(({ key }) => key), cursor: page.cursor });
    cursor = page.cursor;
  }
  expect(pages).toEqual([
    { keys: [], cursor: "a0099" },
    { keys: [], cursor: "a0199" },
    { keys: ["b"], cursor: null },
  ]);
  database.close();
});
