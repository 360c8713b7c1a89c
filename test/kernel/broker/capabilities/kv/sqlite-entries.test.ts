import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { NAMES_KEPT_MS, NAMES_MAX } from "../../../../../src/kernel/broker/capabilities/kv/kv-store.ts";
import { SqliteEntries } from "../../../../../src/kernel/broker/capabilities/kv/sqlite-store.ts";
import { KV_LAYOUT, layOut } from "../../../../../src/kernel/store/sqlite/layout.ts";

const ALWAYS = { kind: "always" } as const;

test("of writes with names, a namespace remembers the latest ten thousand, for a week", () => {
  using database = new DatabaseSync(":memory:");
  layOut(database, 64 * 1024 * 1024, KV_LAYOUT);
  const entries = new SqliteEntries(database);
  const write = (once: string, nowMs = 0) => {
    const outcome = entries.set(
      "n",
      { key: "k", value: "1", ttlMs: null, condition: ALWAYS, quotaBytes: 1e9, once },
      nowMs,
    );
    return outcome.kind === "set" ? outcome.version : 0;
  };
  for (let at = 1; at <= NAMES_MAX + 512; at++) write(`c/${at}`);
  const next = NAMES_MAX + 513;
  expect([write("c/600"), write("c/1"), write("c/2")]).toEqual([600, next, next + 1]);
  const remembered = () => Number(database.prepare("SELECT count(*) AS names FROM named").get()?.["names"]);
  expect(remembered()).toBeLessThan(NAMES_MAX + 512);
  for (let sweep = 0; sweep < 200; sweep++) entries.sweep(NAMES_KEPT_MS);
  expect(remembered()).toBeGreaterThan(0);
  for (let sweep = 0; sweep < 200; sweep++) entries.sweep(NAMES_KEPT_MS + 1);
  expect(remembered()).toBe(0);
});

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
