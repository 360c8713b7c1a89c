import { createHash } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HOLDER_LOST_MS, type KeyedCall, type LedgerCapacity } from "../../../../src/kernel/store/calls/ledger.ts";
import { HOLDERS, KINDS, type LedgerKind } from "./kinds.ts";

const MIB = 1024 * 1024;
const TTL_MS = 60_000;
const WIDE: LedgerCapacity = { ttlMs: TTL_MS, maxEntries: 1_000, maxBytes: 64 * MIB };

const digest = (text: string) => createHash("sha256").update(text).digest();
const callOf = (key: string, asked: string, tenant = "t", mayRepeat = false): KeyedCall => ({
  digest: digest(`${tenant}/${key}`),
  tenant: digest(tenant),
  asked: digest(asked),
  mayRepeat,
});

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

describe.each(Object.entries(KINDS))("a ledger %s", (_name, start) => {
  let kind: LedgerKind;
  beforeAll(async () => {
    kind = await start();
  });
  afterAll(() => kind[Symbol.asyncDispose]());

  test("knows of a key what was said of it, whoever said it in whatever order", { timeout: 300_000 }, () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 80, size: "max" }), async (steps) => {
        await using ledger = await kind.open(WIDE);
        const model = new Model();
        const names = Array.from({ length: HOLDERS }, (_, at) => `h${at}`);
        const holders = names.map((name, at) => ledger.holder(at, name));
        let nowMs = 1_000_000;
        for (const [at, each] of steps.entries()) {
          const name = names[each.who] ?? "";
          const holder = holders[each.who];
          const call = callOf(each.key, each.asked, "t", each.mayRepeat);
          switch (each.deed) {
            case "claim":
              expect(await holder?.claim(call, nowMs)).toEqual(
                model.claim(each.key, each.asked, each.mayRepeat, name, nowMs),
              );
              break;
            case "settle":
              await holder?.settle(call, `"${at}"`, nowMs);
              model.settle(each.key, name, `"${at}"`, nowMs);
              break;
            case "release":
              await holder?.release(call, nowMs);
              model.release(each.key, name);
              break;
            case "see":
              await holder?.see(nowMs);
              model.see(name, nowMs);
              break;
            case "restart":
              if (each.isGentle) {
                await holder?.leave();
                model.leave(name);
              }
              names[each.who] = `${name}+`;
              holders[each.who] = ledger.holder(each.who, `${name}+`);
              break;
            case "sweep":
              await holder?.sweep(nowMs);
              model.sweep(nowMs);
              break;
            case "pass":
              nowMs += each.passMs;
          }
        }
      }),
      { numRuns: 60 },
    ),
  );

  test("keeps never more than there is room for, and its books are right", { timeout: 300_000 }, () => {
    const room: LedgerCapacity = { ttlMs: TTL_MS, maxEntries: 20, maxBytes: MIB };
    const one = fc.record({
      tenant: fc.constantFrom("a", "b", "c"),
      bytes: fc.constantFrom(0, 10, 20, 30_000, 65_280, 65_537),
      passMs: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 0, TTL_MS),
    });
    return fc.assert(
      fc.asyncProperty(fc.array(one, { minLength: 10, maxLength: 60, size: "max" }), async (all) => {
        await using ledger = await kind.open(room);
        const holder = ledger.holder(0, "h");
        let nowMs = 1_000_000;
        for (const [at, { tenant, bytes, passMs }] of all.entries()) {
          const call = callOf(`${at}`, "x", tenant);
          await holder.claim(call, nowMs);
          await holder.settle(call, "x".repeat(bytes), nowMs);
          const known = await holder.claim(call, nowMs);
          expect(known.kind).toBe(bytes > room.maxBytes / 16 ? "unknown" : "kept");
          nowMs += passMs;
          if (passMs > 0) await holder.sweep(nowMs);
          const { kept, total, tenants } = await ledger.books();
          expect(total).toEqual(kept);
          expect(tenants).toEqual(kept);
          expect(kept.calls).toBeLessThanOrEqual(room.maxEntries);
          expect(kept.bytes).toBeLessThanOrEqual(room.maxBytes);
        }
      }),
      { numRuns: 25 },
    );
  });

  test("has whoever has most make room, by number or by size, and of that the oldest", async () => {
    await using ledger = await kind.open({ ttlMs: TTL_MS, maxEntries: 20, maxBytes: MIB });
    const holder = ledger.holder(0, "h");
    const keep = async (tenant: string, key: string, bytes: number) => {
      await holder.claim(callOf(key, "x", tenant), 1);
      await holder.settle(callOf(key, "x", tenant), "x".repeat(bytes), 1);
    };
    const areKept = (...all: readonly (readonly [tenant: string, key: string])[]) =>
      Promise.all(all.map(([tenant, key]) => ledger.isKept(callOf(key, "x", tenant))));
    for (let at = 0; at < 12; at++) await keep("many", `${at}`, 1);
    for (let at = 0; at < 5; at++) await keep("large", `${at}`, 65_000);
    for (let at = 5; at < 8; at++) await keep("few", `${at}`, 1);
    // The entries are all taken, and then the bytes.
    await keep("few", "8", 1);
    expect(await areKept(["many", "0"], ["many", "1"], ["large", "0"])).toEqual([false, true, true]);
    for (let at = 0; at < 12; at++) await keep("other", `${at}`, 60_000);
    expect(await areKept(["large", "0"], ["many", "11"], ["few", "5"])).toEqual([false, true, true]);
  });
});
