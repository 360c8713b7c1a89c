import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { DEFAULT_KEYS, type KeyedCall, type LedgerCapacity } from "../../../../src/kernel/store/calls/ledger.ts";
import { SqliteLedger } from "../../../../src/kernel/store/calls/sqlite-ledger.ts";
import { overwritePages } from "./fault-store.ts";
import { rowOf } from "./kept-row.ts";
import { openStore, scratchFolder } from "./stored-calls.ts";

const MIB = 1024 * 1024;
const NEVER = new AbortController().signal;
/** Kept: `one` and `two` of a tenant, `three` of another one. Begun, and their process was lost: `begun`, `repeatable`. */
const EARLIER = gunzipSync(readFileSync(new URL("./ledger-1.sqlite.gz", import.meta.url)));

const digest = (text: string) => createHash("sha256").update(text).digest();
const callOf = (key: string, { mayRepeat = false, tenant = "t" } = {}): KeyedCall => ({
  digest: digest(key),
  tenant: digest(tenant),
  asked: digest("asked"),
  mayRepeat,
});

function openLedger(path: string, keys: Partial<LedgerCapacity> = {}) {
  const file = { path, keys: { ...DEFAULT_KEYS, ...keys } };
  const opened = openStore(file);
  const ledger = SqliteLedger.in(opened.store, file, () => undefined);
  const claim = (key: string, mayRepeat = false) => ledger.claim(callOf(key, { mayRepeat }), NEVER, 0);
  const keep = async (key: string, result: string): Promise<void> => {
    expect(await claim(key)).toEqual({ kind: "mine" });
    await ledger.settle(callOf(key), result);
  };
  return { ...opened, ledger, claim, keep };
}

async function expectEarlier({ claim }: Pick<ReturnType<typeof openLedger>, "claim">): Promise<void> {
  for (const key of ["one", "two"])
    expect(await claim(key)).toEqual({ kind: "kept", result: JSON.stringify({ result: key }) });
  expect(await claim("begun")).toEqual({ kind: "unknown", hasEnded: false });
}

/** The first statement of an engine of the earlier version. */
const LOOK = "SELECT id, result FROM call WHERE digest = ?";

describe("a ledger of an earlier version", () => {
  test("in the store's own path is opened as it is, and engines of that version refuse it from then on", async () => {
    const path = join(scratchFolder(), "keys.sqlite");
    writeFileSync(path, EARLIER);
    using older = new DatabaseSync(path);
    const look = older.prepare(LOOK);
    expect(look.get(digest("one"))).toMatchObject({ result: '{"result":"one"}' });
    const ledger = openLedger(path);
    await expectEarlier(ledger);
    expect(await ledger.claim("repeatable", true)).toEqual({ kind: "mine" });
    expect(() => look.get(digest("one"))).toThrow("no such column");
    const books = "SELECT calls, bytes FROM keyed_total";
    expect(older.prepare(books).get()).toEqual({ calls: 3, bytes: 3 * 256 + 50 });
    await ledger.keep("new", "1234");
    expect(older.prepare(books).get()).toEqual({ calls: 4, bytes: 4 * 256 + 54 });
    ledger.store.keep(rowOf({ id: "c1" }), 0);
    expect(await ledger.list()).toMatchObject([{ id: "c1" }]);
  });

  test("beside the store is taken over once by processes that start together, and no key gets a second ledger", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const beside = join(dirname(path), "idempotency.sqlite");
    writeFileSync(beside, EARLIER);
    using older = new DatabaseSync(beside);
    const look = older.prepare(LOOK);
    expect(look.get(digest("two"))).toBeDefined();
    const ledgers = Array.from({ length: 4 }, () => openLedger(path));
    const claims = await Promise.all(ledgers.map(({ claim }) => claim("repeatable", true)));
    expect(claims.map(({ kind }) => kind).toSorted()).toEqual(["mine", "running", "running", "running"]);
    await Promise.all(ledgers.map(expectEarlier));
    expect(() => look.get(digest("two"))).toThrow("no such table");
    expect(older.prepare("PRAGMA user_version").get()).toEqual({ user_version: 2 });
    using store = new DatabaseSync(path, { readOnly: true });
    expect(store.prepare("SELECT calls, bytes FROM keyed_total").get()).toEqual({ calls: 3, bytes: 3 * 256 + 50 });
    expect(store.prepare("SELECT calls FROM keyed_tenant ORDER BY calls").all()).toEqual([{ calls: 1 }, { calls: 2 }]);
    const named = openLedger(beside);
    await expect(named.claim("one")).rejects.toThrow("its calls were moved to calls.sqlite");
  });

  test("of which a part was taken over before the machine stopped is taken over whole", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const beside = join(dirname(path), "idempotency.sqlite");
    writeFileSync(beside, EARLIER);
    const first = openLedger(path);
    await expectEarlier(first);
    await first.store.close();
    for (const side of ["-wal", "-shm"]) rmSync(beside + side, { force: true });
    writeFileSync(beside, EARLIER);
    using older = new DatabaseSync(beside);
    older.exec("UPDATE call SET tenant = 1, result = '2' WHERE tenant IS NULL AND may_repeat = 0");
    const again = openLedger(path);
    expect(await again.claim("begun")).toEqual({ kind: "kept", result: "2" });
    expect(await again.claim("one")).toEqual({ kind: "kept", result: '{"result":"one"}' });
  });
});

describe("a damaged file with a ledger", () => {
  test("is kept aside, and a call whose key it may have had is not run until the key would have expired", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const before = openLedger(path);
    await before.keep("done", "1");
    await before.store.close();
    overwritePages(path);
    const ledger = openLedger(path);
    expect(await ledger.claim("done")).toEqual({ kind: "doubted" });
    expect(await ledger.claim("other")).toEqual({ kind: "doubted" });
    expect(await ledger.claim("repeatable", true)).toEqual({ kind: "mine" });
    expect(ledger.renewals).toEqual(["corrupt"]);
    expect(existsSync(`${path}.corrupt`)).toBe(true);
    ledger.store.keep(rowOf({ id: "c1" }), 0);
    expect(await ledger.list()).toMatchObject([{ id: "c1" }]);
    expect(await openLedger(path).claim("done")).toEqual({ kind: "doubted" });
    const later = openLedger(path, { ttlMs: 1_500 });
    await expect.poll(() => later.claim("done"), { timeout: 120_000 }).toEqual({ kind: "mine" });
  });

  test("does not lose the end of a call that runs meanwhile", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const runs = openLedger(path);
    expect(await runs.claim("running")).toEqual({ kind: "mine" });
    // What another process does that finds the damage.
    for (const side of ["-wal", "-shm"]) rmSync(path + side, { force: true });
    writeFileSync(`${path}.corrupt`, "");
    rmSync(path);
    const finds = openLedger(path);
    expect(await finds.claim("running")).toEqual({ kind: "doubted" });
    await runs.ledger.settle(callOf("running"), '"its end"');
    expect(await finds.claim("running")).toEqual({ kind: "kept", result: '"its end"' });
  });

  test("refuses no key once its operator has removed it", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    writeFileSync(`${path}.corrupt`, "");
    const { claim } = openLedger(path);
    expect(await claim("new")).toEqual({ kind: "doubted" });
    rmSync(`${path}.corrupt`);
    expect(await claim("new")).toEqual({ kind: "mine" });
  });
});

describe("the ledger in the store of calls", () => {
  test("takes new keys where results are kept for longer than there has been time", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    expect(await openLedger(path, { ttlMs: 1e15 }).claim("new")).toEqual({ kind: "mine" });
  });

  test("neither calls nor keys remove each other where both are at their limits", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const file = { path, keys: { ttlMs: 600_000, maxEntries: 100, maxBytes: MIB } };
    const opened = openStore({ ...file, maxBytes: 16 * MIB });
    const ledger = SqliteLedger.in(opened.store, file, () => undefined);
    const text = JSON.stringify("x".repeat(100_000));
    for (let at = 0; at < 300; at++) {
      opened.store.keep(rowOf({ id: `c${at}` }, { output: text }), text.length);
      const call = callOf(`k${at}`, { mayRepeat: true });
      expect(await ledger.claim(call, NEVER)).toEqual({ kind: "mine" });
      await ledger.settle(call, JSON.stringify("y".repeat(1_000)));
    }
    await opened.store.close();
    expect(opened.drops).toEqual([]);
    expect(statSync(path).size).toBeLessThan(20 * MIB);
    using database = new DatabaseSync(path, { readOnly: true });
    const count = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
    expect(count("SELECT count(*) FROM keyed")).toBe(100);
    // More than one file of that size would have had.
    expect(opened.store.status().kept).toBe(300);
    expect(count("SELECT count(*) FROM call")).toBeLessThan(300);
  });

  test("a step waits while another process writes, and fails where that takes seconds", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const { claim } = openLedger(path);
    expect(await claim("first")).toEqual({ kind: "mine" });
    using other = new DatabaseSync(path);
    // Between its two transactions the store may have one.
    other.exec("PRAGMA busy_timeout = 60000; BEGIN IMMEDIATE");
    const second = claim("second");
    await delay(100);
    other.exec("COMMIT; BEGIN IMMEDIATE");
    other.exec("COMMIT");
    expect(await second).toEqual({ kind: "mine" });
    other.exec("BEGIN IMMEDIATE");
    await expect(claim("third")).rejects.toThrow("the store is busy: try again later");
    other.exec("COMMIT");
    expect(await claim("third")).toEqual({ kind: "mine" });
  });

  test("a file that cannot be used is an error for a key, and is used as soon as it can be", async () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, "state"), "a file in the place of the folder");
    const { claim } = openLedger(join(folder, "state", "calls.sqlite"));
    await expect(claim("first")).rejects.toThrow("the store cannot be opened: ENOTDIR");
    rmSync(join(folder, "state"));
    mkdirSync(join(folder, "state"));
    expect(await claim("first")).toEqual({ kind: "mine" });
  });

  test("steps of one moment are written together", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const { claim } = openLedger(path);
    await claim("first");
    const before = statSync(`${path}-wal`).size;
    const claims = await Promise.all(Array.from({ length: 64 }, (_, at) => claim(`k${at}`)));
    expect(claims.every(({ kind }) => kind === "mine")).toBe(true);
    // A transaction of its own for each would have written some five pages for each.
    expect(statSync(`${path}-wal`).size - before).toBeLessThan(64 * 2 * 4_096);
  });
});
