import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createFile, layOut } from "../../../src/capabilities/kv/layout.ts";
import { Calls, HOLDER_LOST_MS, type KeyedCall, type Room } from "../../../src/ledger/calls.ts";
import { LEDGER_LAYOUT } from "../../../src/ledger/layout.ts";

const MIB = 1024 * 1024;
const TTL_MS = 60_000;
const WIDE: Room = { ttlMs: TTL_MS, maxEntries: 1_000, maxBytes: 64 * MIB };
const HOLDERS = 3;

const digest = (text: string) => createHash("sha256").update(text).digest();
const callOf = (key: string, asked: string, tenant = "t", mayRepeat = false): KeyedCall => ({
  digest: digest(`${tenant}/${key}`),
  tenant: digest(tenant),
  asked: digest(asked),
  mayRepeat,
});

/** Some connections to one file, as so many processes have them. */
function openFile(room: Room) {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-ledger-"));
  const path = join(folder, "keys.sqlite");
  createFile(path);
  const connect = () => {
    const database = new DatabaseSync(path);
    layOut(database, 256 * MIB, LEDGER_LAYOUT);
    return database;
  };
  const databases = Array.from({ length: HOLDERS }, connect);
  return {
    database: databases[0] as DatabaseSync,
    calls: databases.map((each) => new Calls(each, room)),
    [Symbol.dispose]() {
      for (const each of databases) each.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What a ledger has to know of one key, in the plainest way. */
interface Known {
  readonly asked: string;
  readonly mayRepeat: boolean;
  holder: string;
  expiresMs: number;
  result: string | null;
}

class Model {
  readonly #known = new Map<string, Known>();
  readonly #seenMs = new Map<string, number>();

  claim(key: string, asked: string, mayRepeat: boolean, holder: string, nowMs: number): object {
    const known = this.#known.get(key);
    const isRunning = known?.result === null && known.holder !== holder && this.#isThere(known.holder, nowMs);
    if (known !== undefined && (isRunning || nowMs < known.expiresMs)) {
      if (known.asked !== asked) return { kind: "conflict" };
      if (isRunning) return { kind: "running" };
      if (known.result !== null) return { kind: "kept", result: known.result };
      if (!known.mayRepeat) return { kind: "unknown", hasEnded: false };
    }
    this.#known.set(key, { asked, mayRepeat, holder, expiresMs: nowMs + TTL_MS, result: null });
    this.#seenMs.set(holder, nowMs);
    return { kind: "mine" };
  }

  settle(key: string, holder: string, result: string, nowMs: number): void {
    const known = this.#known.get(key);
    if (known?.holder !== holder || known.result !== null) return;
    known.result = result;
    known.expiresMs = nowMs + TTL_MS;
  }

  release(key: string, holder: string): void {
    const known = this.#known.get(key);
    if (known?.holder === holder && known.result === null) this.#known.delete(key);
  }

  see(holder: string, nowMs: number): void {
    this.#seenMs.set(holder, nowMs);
  }

  leave(holder: string): void {
    this.#seenMs.delete(holder);
  }

  sweep(nowMs: number): void {
    for (const [key, { holder, result, expiresMs }] of this.#known) {
      if (expiresMs <= nowMs && (result !== null || !this.#isThere(holder, nowMs))) this.#known.delete(key);
    }
  }

  #isThere(holder: string, nowMs: number): boolean {
    const seenMs = this.#seenMs.get(holder);
    return seenMs !== undefined && nowMs - seenMs <= HOLDER_LOST_MS;
  }
}

const DEEDS = ["claim", "claim", "claim", "settle", "settle", "release", "see", "restart", "sweep", "pass"] as const;
/** What somebody does; each deed uses of it what it needs. */
const step = fc.record({
  deed: fc.constantFrom(...DEEDS),
  who: fc.nat({ max: HOLDERS - 1 }),
  key: fc.constantFrom("a", "b"),
  asked: fc.constantFrom("x", "x", "x", "y"),
  mayRepeat: fc.boolean(),
  isGentle: fc.boolean(),
  passMs: fc.constantFrom(1, HOLDER_LOST_MS, HOLDER_LOST_MS + 1, TTL_MS),
});

test("a ledger knows of a key what was said of it, whoever said it in whatever order", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 80, size: "max" }), (steps) => {
      using file = openFile(WIDE);
      const model = new Model();
      const holders = Array.from({ length: HOLDERS }, (_, at) => `h${at}`);
      let nowMs = 1_000_000;
      for (const [at, each] of steps.entries()) {
        const holder = holders[each.who] ?? "";
        const calls = file.calls[each.who];
        const call = callOf(each.key, each.asked, "t", each.mayRepeat);
        switch (each.deed) {
          case "claim":
            expect(calls?.claim(call, holder, nowMs)).toEqual(
              model.claim(each.key, each.asked, each.mayRepeat, holder, nowMs),
            );
            break;
          case "settle":
            calls?.settle(call, holder, `"${at}"`, nowMs);
            model.settle(each.key, holder, `"${at}"`, nowMs);
            break;
          case "release":
            calls?.release(call, holder);
            model.release(each.key, holder);
            break;
          case "see":
            calls?.see(holder, nowMs);
            model.see(holder, nowMs);
            break;
          case "restart":
            if (each.isGentle) {
              calls?.leave(holder);
              model.leave(holder);
            }
            holders[each.who] = `h${at}+`;
            break;
          case "sweep":
            calls?.sweep(nowMs);
            model.sweep(nowMs);
            break;
          case "pass":
            nowMs += each.passMs;
        }
      }
    }),
    { numRuns: 60 },
  );
});

test("what is kept is never more than there is room for, and the books are right", () => {
  const room: Room = { ttlMs: TTL_MS, maxEntries: 20, maxBytes: MIB };
  const one = fc.record({
    tenant: fc.constantFrom("a", "b", "c"),
    bytes: fc.constantFrom(0, 10, 20, 30_000, 65_280, 65_537),
    passMs: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 0, TTL_MS),
  });
  fc.assert(
    fc.property(fc.array(one, { minLength: 10, maxLength: 60, size: "max" }), (all) => {
      using file = openFile(room);
      const [calls] = file.calls;
      let nowMs = 1_000_000;
      for (const [at, { tenant, bytes, passMs }] of all.entries()) {
        const call = callOf(`${at}`, "x", tenant);
        calls?.claim(call, "h", nowMs);
        calls?.settle(call, "h", "x".repeat(bytes), nowMs);
        const known = calls?.claim(call, "h", nowMs);
        expect(known?.kind).toBe(bytes > room.maxBytes / 16 ? "unknown" : "kept");
        nowMs += passMs;
        if (passMs > 0) calls?.sweep(nowMs);
        const kept = file.database.prepare("SELECT count(*) AS calls, ifnull(sum(bytes), 0) AS bytes FROM call").get();
        expect(file.database.prepare("SELECT calls, bytes FROM total").get()).toEqual(kept);
        const tenants = file.database
          .prepare("SELECT ifnull(sum(calls), 0) AS calls, ifnull(sum(bytes), 0) AS bytes FROM tenant")
          .get();
        expect(tenants).toEqual(kept);
        expect(Number(kept?.["calls"])).toBeLessThanOrEqual(room.maxEntries);
        expect(Number(kept?.["bytes"])).toBeLessThanOrEqual(room.maxBytes);
      }
    }),
    { numRuns: 25 },
  );
});

test("whoever has most makes room, by number or by size, and of that the oldest", () => {
  using file = openFile({ ttlMs: TTL_MS, maxEntries: 20, maxBytes: MIB });
  const [calls] = file.calls;
  const keep = (tenant: string, key: string, bytes: number) => {
    calls?.claim(callOf(key, "x", tenant), "h", 1);
    calls?.settle(callOf(key, "x", tenant), "h", "x".repeat(bytes), 1);
  };
  const isKept = (tenant: string, key: string) =>
    file.database.prepare("SELECT 1 FROM call WHERE digest = ?").get(callOf(key, "x", tenant).digest) !== undefined;
  for (let at = 0; at < 12; at++) keep("many", `${at}`, 1);
  for (let at = 0; at < 5; at++) keep("large", `${at}`, 65_000);
  for (let at = 5; at < 8; at++) keep("few", `${at}`, 1);
  // The entries are all taken, and then the bytes.
  keep("few", "8", 1);
  expect([isKept("many", "0"), isKept("many", "1"), isKept("large", "0")]).toEqual([false, true, true]);
  for (let at = 0; at < 12; at++) keep("other", `${at}`, 60_000);
  expect([isKept("large", "0"), isKept("many", "11"), isKept("few", "5")]).toEqual([false, true, true]);
});
