import fc from "fast-check";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { CapabilityRefusal } from "../../../../../src/kernel/broker/capabilities/capability.ts";
import { callOf, type Invoke, STORES } from "./open.ts";

interface Page {
  readonly keys: readonly { readonly key: string; readonly bytes: number; readonly version: number }[];
  readonly cursor: string | null;
}

/** Longer than any of these tests. */
const LONG_MS = 3_600_000;

async function keysOf(invoke: Invoke, asked: object = {}): Promise<string[]> {
  const keys: string[] = [];
  let cursor: string | null = null;
  do {
    const page = (await invoke("list", { ...asked, ...(cursor === null ? {} : { cursor }) })) as Page;
    keys.push(...page.keys.map(({ key }) => key));
    cursor = page.cursor;
  } while (cursor !== null);
  return keys;
}

/** Resolves when an entry has expired. */
async function gone(invoke: Invoke, key: string): Promise<void> {
  await vi.waitUntil(async () => (await invoke("get", { key })) === null, { timeout: 60_000, interval: 2 });
}

/** What a store is, without time and quota. */
type Model = Map<string, { value: unknown; version: number }>;

interface ModelArgs {
  readonly key?: string;
  readonly value?: unknown;
  readonly prefix?: string;
  readonly ifVersion?: number;
  readonly ifAbsent?: boolean;
}

function perform(model: Model, method: string, args: ModelArgs, nextVersion: () => number): unknown {
  const { key = "", value, prefix = "", ifVersion, ifAbsent = false } = args;
  const old = model.get(key);
  const holds = (ifVersion === undefined || old?.version === ifVersion) && !(ifAbsent && old !== undefined);
  switch (method) {
    case "get":
      return old?.value ?? null;
    case "set": {
      if (!holds) return null;
      const version = nextVersion();
      model.set(key, { value, version });
      return version;
    }
    case "delete":
      return holds && model.delete(key);
    default:
      return [...model.keys()].filter((name) => name.startsWith(prefix)).toSorted();
  }
}

describe.each(STORES)("%s", (_store, prepare) => {
  const open = prepare();
  let ask: Invoke;

  describe("a write of a stored call", () => {
    test("is done once: a later run of the call has its answer, whatever others have written since", async () => {
      const kv = open();
      const [first, other] = [callOf(kv, { effectsId: "c_1" }), callOf(kv)];
      expect(await first("set", { key: "k", value: 1 }, 1)).toBe(1);
      expect(await first("set", { key: "k", value: 2, ifAbsent: true }, 2)).toBe(null);
      await other("delete", { key: "k" });
      const later = callOf(kv, { effectsId: "c_1" });
      expect(await later("set", { key: "k", value: 1 }, 1)).toBe(1);
      expect(await later("set", { key: "k", value: 2, ifAbsent: true }, 2)).toBe(null);
      expect(await other("get", { key: "k" })).toBe(null);
      expect(await later("set", { key: "k", value: 3 }, 3)).toBe(2);
      expect(await later("delete", { key: "k" }, 4)).toBe(true);
      await other("set", { key: "k", value: 4 });
      expect(await callOf(kv, { effectsId: "c_1" })("delete", { key: "k" }, 4)).toBe(true);
      expect(await other("get", { key: "k" })).toBe(4);
    });

    test("that found no room is tried again", async () => {
      const kv = open();
      const writes = callOf(kv, { effectsId: "c_1", quotaBytes: 64 });
      await writes("set", { key: "a", value: 1 }, 1);
      await expect(writes("set", { key: "b", value: 1 }, 2)).rejects.toThrow("full");
      await callOf(kv)("delete", { key: "a" });
      expect(await writes("set", { key: "b", value: 1 }, 2)).toBe(2);
    });
  });

  describe("an entry", () => {
    beforeEach(() => {
      ask = callOf(open());
    });

    test("is what was set last, whatever JSON it is", async () => {
      for (const value of [{ a: [1, null, "ü\u2028\ud800"] }, "text", 0, false, null, [], ""]) {
        await ask("set", { key: "k", value });
        expect(await ask("get", { key: "k" })).toEqual(value);
      }
    });

    test("is null where it is missing, which an entry of null is not", async () => {
      expect(await ask("get", { key: "k" })).toBeNull();
      expect(await ask("getEntry", { key: "k" })).toBeNull();
      await ask("set", { key: "k", value: null });
      expect(await ask("getEntry", { key: "k" })).toEqual({ value: null, version: 1, expiresAt: null });
    });

    test("goes when it is deleted, which says whether there was one", async () => {
      await ask("set", { key: "k", value: 1 });
      expect(await ask("delete", { key: "k" })).toBe(true);
      expect(await ask("delete", { key: "k" })).toBe(false);
      expect(await ask("get", { key: "k" })).toBeNull();
    });

    test("has a version that grows, also where it was deleted in between", async () => {
      expect(await ask("set", { key: "k", value: 1 })).toBe(1);
      expect(await ask("set", { key: "k", value: 2 })).toBe(2);
      await ask("delete", { key: "k" });
      expect(await ask("set", { key: "k", value: 3 })).toBe(3);
    });

    test.each([
      ["a NUL", { key: "a\0b" }, "NUL"],
      ["half of a surrogate pair", { key: "a\ud800" }, "surrogate"],
      ["more than 512 bytes", { key: "ü".repeat(257) }, "514"],
    ])("has no key with %s", async (_what, { key }, why) => {
      await expect(ask("set", { key, value: 1 })).rejects.toThrow(why);
      await expect(ask("get", { key })).rejects.toThrow(why);
      await expect(ask("delete", { key })).rejects.toThrow(why);
    });

    test("may have any other key", async () => {
      const keys = ["%", "_", "a'b\"", "ü".repeat(256), "\u{10ffff}", "\n", "../x", "__proto__"];
      for (const key of keys) await ask("set", { key, value: key });
      for (const key of keys) expect(await ask("get", { key })).toBe(key);
    });

    test("may have 256 KiB of JSON, and not a byte more", async () => {
      const value = "x".repeat(256 * 1024 - 2);
      expect(await ask("set", { key: "k", value })).toBe(1);
      await expect(ask("set", { key: "k", value: `${value}x` })).rejects.toThrow("262145");
      expect(await ask("get", { key: "k" })).toBe(value);
    });
  });

  describe("an entry that expires", () => {
    beforeEach(() => {
      ask = callOf(open());
    });

    test("is there until then, and says when", async () => {
      const beforeMs = Date.now();
      await ask("set", { key: "k", value: 1, ttlMs: LONG_MS });
      const entry = (await ask("getEntry", { key: "k" })) as { readonly expiresAt: number };
      expect(entry).toEqual({ value: 1, version: 1, expiresAt: expect.any(Number) });
      expect(Math.round((entry.expiresAt - beforeMs) / LONG_MS)).toBe(1);
      expect(await keysOf(ask)).toEqual(["k"]);
    });

    test("is gone for everything from then on", async () => {
      await ask("set", { key: "k", value: 1, ttlMs: 1 });
      await gone(ask, "k");
      expect(await ask("getEntry", { key: "k" })).toBeNull();
      expect(await keysOf(ask)).toEqual([]);
      expect(await ask("delete", { key: "k" })).toBe(false);
      expect(await ask("set", { key: "k", value: 2, ifVersion: 1 })).toBeNull();
      expect(await ask("set", { key: "k", value: 2, ifAbsent: true })).toBe(2);
    });

    test("is gone for everything beside one that stays", async () => {
      await ask("set", { key: "stays", value: 0 });
      await ask("set", { key: "k", value: 1, ttlMs: 1 });
      await gone(ask, "k");
      expect(await ask("getEntry", { key: "k" })).toBeNull();
      expect(await keysOf(ask)).toEqual(["stays"]);
      expect(await ask("delete", { key: "k" })).toBe(false);
      expect(await ask("set", { key: "k", value: 2, ifVersion: 2 })).toBeNull();
      expect(await ask("set", { key: "k", value: 2, ifAbsent: true })).toBe(3);
    });

    test("stays when it is set again without a time", async () => {
      for (const key of ["k", "other"]) await ask("set", { key, value: 1, ttlMs: 50 });
      await ask("set", { key: "k", value: 2 });
      await gone(ask, "other");
      await ask("set", { key: "more", value: 1 });
      expect(await ask("getEntry", { key: "k" })).toEqual({ value: 2, version: 3, expiresAt: null });
    });

    test("goes when it is set again with a time", async () => {
      await ask("set", { key: "k", value: 1 });
      await ask("set", { key: "k", value: 2, ttlMs: 1 });
      await gone(ask, "k");
      expect(await keysOf(ask)).toEqual([]);
    });

    test("makes room for others, however many there are", async () => {
      const few = callOf(open(), { quotaBytes: 64 * 1_000 });
      for (let at = 0; at < 1_000; at++) await few("set", { key: `k${at}`, value: 1, ttlMs: LONG_MS });
      await expect(few("set", { key: "more", value: 1 })).rejects.toThrow("full");
      for (let at = 0; at < 1_000; at++) await few("set", { key: `k${at}`, value: 1, ttlMs: 1 });
      await gone(few, "k999");
      for (let at = 0; at < 1_000; at++) await few("set", { key: `m${at}`, value: 1 });
      await expect(few("set", { key: "more", value: 1 })).rejects.toThrow("full");
    });

    test("makes room together with others for one that needs the place of many", async () => {
      const few = callOf(open(), { quotaBytes: 64 * 251 });
      await few("set", { key: "stays", value: 1 });
      const keys = Array.from({ length: 250 }, (_, at) => `k${at}`);
      await Promise.all(keys.map((key) => few("set", { key, value: 1, ttlMs: 300 })));
      for (const key of keys) await gone(few, key);
      expect(await few("set", { key: "large", value: "x".repeat(64 * 240) })).toBe(252);
    });
  });

  describe("compare and set", () => {
    beforeEach(() => {
      ask = callOf(open());
    });

    test("sets where nothing was, once", async () => {
      expect(await ask("set", { key: "k", value: 1, ifAbsent: true })).toBe(1);
      expect(await ask("set", { key: "k", value: 2, ifAbsent: true })).toBeNull();
      expect(await ask("get", { key: "k" })).toBe(1);
    });

    test("sets and deletes what still has the version that was read", async () => {
      await ask("set", { key: "k", value: 1 });
      expect(await ask("set", { key: "k", value: 2, ifVersion: 1 })).toBe(2);
      expect(await ask("set", { key: "k", value: 3, ifVersion: 1 })).toBeNull();
      expect(await ask("delete", { key: "k", ifVersion: 1 })).toBe(false);
      expect(await ask("delete", { key: "k", ifVersion: 2 })).toBe(true);
      expect(await ask("set", { key: "k", value: 4, ifVersion: 2 })).toBeNull();
    });

    test("takes one condition, not two", async () => {
      await expect(ask("set", { key: "k", value: 1, ifAbsent: true, ifVersion: 1 })).rejects.toThrow(
        "exclude each other",
      );
    });

    test("loses no increment of many that are made side by side", async () => {
      const increment = async (): Promise<void> => {
        for (;;) {
          const entry = (await ask("getEntry", { key: "n" })) as { value: number; version: number } | null;
          const condition = entry === null ? { ifAbsent: true } : { ifVersion: entry.version };
          if ((await ask("set", { key: "n", value: (entry?.value ?? 0) + 1, ...condition })) !== null) return;
        }
      };
      await Promise.all(Array.from({ length: 50 }, increment));
      expect(await ask("get", { key: "n" })).toBe(50);
    });
  });

  describe("a list", () => {
    beforeEach(() => {
      ask = callOf(open());
    });

    test("tells keys, versions, sizes and times, and no values", async () => {
      await ask("set", { key: "ü", value: "ü" });
      await ask("set", { key: "b", value: 1, ttlMs: LONG_MS });
      const { expiresAt } = (await ask("getEntry", { key: "b" })) as { readonly expiresAt: number };
      expect(await ask("list")).toEqual({
        keys: [
          { key: "b", version: 2, bytes: 2, expiresAt },
          { key: "ü", version: 1, bytes: 6, expiresAt: null },
        ],
        cursor: null,
      });
    });

    test.each([["a%"], ["a_"], ["a*"], ["a["], ["aü"], ["a\u{1f600}"], ["a\uffff"], ["a\u{10ffff}"], ["A"], [""]])(
      "takes a prefix as it is written: %j",
      async (prefix) => {
        const keys = ["a", "a%", "a%b", "a_", "a_b", "a*", "a[", "ab", "aü", "aüb", "A", "Ab"];
        keys.push("a\u{1f600}", "a\u{1f600}b", "a\uffff", "a\u{10ffff}", "a\u{10ffff}\u{10ffff}");
        for (const key of keys) await ask("set", { key, value: 1 });
        const expected = keys.filter((key) => key.startsWith(prefix)).toSorted();
        expect((await keysOf(ask, { prefix })).toSorted()).toEqual(expected);
        expect((await keysOf(ask, { prefix, limit: 1 })).toSorted()).toEqual(expected);
      },
    );

    test("has a page of 100 keys, or of what is asked for, and says where the next one begins", async () => {
      const keys = Array.from({ length: 150 }, (_, at) => `k${at}`);
      for (const key of keys) await ask("set", { key, value: 1 });
      const first = (await ask("list")) as Page;
      expect(first.keys).toHaveLength(100);
      const second = (await ask("list", { cursor: first.cursor })) as Page;
      expect(second).toMatchObject({ cursor: null });
      expect([...first.keys, ...second.keys].map(({ key }) => key)).toEqual(keys.toSorted());
      expect(((await ask("list", { limit: 7 })) as Page).keys).toHaveLength(7);
    });

    test("is in the order of UTF-8, which is not that of UTF-16, wherever its pages begin", async () => {
      const keys = ["\u{1f600}", "\uffff", "b", "a", "B", "\u{10ffff}", "ü", "aa", " ", "a\u{1f600}", "a\uffff"];
      for (const key of keys) await ask("set", { key, value: 1 });
      const expected = keys.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
      for (const limit of [1, 2, 3, 100]) expect(await keysOf(ask, { limit })).toEqual(expected);
      const [, second = "", third = ""] = expected;
      expect(await ask("list", { limit: 1, cursor: `${second}\u0001` })).toMatchObject({ keys: [{ key: third }] });
    });

    test("begins with its prefix where its cursor stands before that, and is empty where it stands behind", async () => {
      for (const key of ["a", "b1", "b2", "c"]) await ask("set", { key, value: 1 });
      expect(await ask("list", { prefix: "b", cursor: "a" })).toMatchObject({ keys: [{ key: "b1" }, { key: "b2" }] });
      expect(await ask("list", { prefix: "b", cursor: "b" })).toMatchObject({ keys: [{ key: "b1" }, { key: "b2" }] });
      expect(await ask("list", { prefix: "b", cursor: "c" })).toEqual({ keys: [], cursor: null });
    });

    test("goes on behind a key that was deleted meanwhile", async () => {
      for (const key of ["a", "b", "c"]) await ask("set", { key, value: 1 });
      const { cursor } = (await ask("list", { limit: 2 })) as Page;
      await ask("delete", { key: "b" });
      expect(await ask("list", { cursor })).toMatchObject({ keys: [{ key: "c" }], cursor: null });
    });

    test("is not hidden behind entries that have expired", async () => {
      for (let at = 0; at < 50; at++) await ask("set", { key: `a${at}`, value: 1, ttlMs: 1 });
      await ask("set", { key: "b", value: 1 });
      await gone(ask, "a49");
      expect(await ask("list", { limit: 1 })).toMatchObject({ keys: [{ key: "b" }], cursor: null });
    });
  });

  test.each([
    ["tools", { tool: "a" }, { tool: "b" }],
    ["tenants", { tenant: "a" }, { tenant: "b" }],
    ["a tenant and none", { tenant: "a" }, {}],
    ["names whose parts are the same when they are joined", { tool: "a.b", tenant: "c" }, { tool: "a", tenant: "b.c" }],
    ["names with quotes and commas", { tool: "a", tenant: 'b","c' }, { tool: 'a","b', tenant: "c" }],
    ["names with NULs", { tenant: "a\0b" }, { tenant: "a" }],
    ["names that are no Unicode", { tenant: "a\ud800" }, { tenant: "a\udfff" }],
    ["names in other cases", { tenant: "Acme" }, { tenant: "acme" }],
  ])("%s have namespaces of their own", async (_what, one, other) => {
    const kv = open();
    const [first, second] = [callOf(kv, one), callOf(kv, other)];
    await first("set", { key: "k", value: "first" });
    expect(await second("get", { key: "k" })).toBeNull();
    expect(await keysOf(second)).toEqual([]);
    expect(await second("delete", { key: "k" })).toBe(false);
    expect(await second("set", { key: "k", value: "second", ifAbsent: true })).toBe(1);
    expect(await first("get", { key: "k" })).toBe("first");
  });

  describe("a quota", () => {
    const value = "x".repeat(98);

    test("holds keys and values in UTF-8, of which calls may have different shares", async () => {
      const kv = open();
      ask = callOf(kv, { quotaBytes: 202 });
      expect(await ask("set", { key: "ü", value: "x".repeat(97) })).toBe(1);
      expect(await ask("set", { key: "b", value })).toBe(2);
      await expect(ask("set", { key: "c", value: 1 })).rejects.toThrow("full");
      expect(await callOf(kv, { quotaBytes: 300 })("set", { key: "c", value: 1 })).toBe(3);
    });

    test("is told in a refusal with what is used, what is allowed, and how to raise it", async () => {
      ask = callOf(open(), { quotaBytes: 150 });
      await ask("set", { key: "a", value });
      const refusal = await ask("set", { key: "b", value }).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(CapabilityRefusal);
      expect(refusal).toMatchObject({
        outcome: "limit",
        message: expect.stringContaining("101 of 150 bytes are used, and the entry needs 101 more"),
        refused: { asked: "kv of 202 bytes", granted: "kv of 150 bytes", remedy: expect.stringContaining("allow.kv") },
      });
    });

    test("bounds how many small entries there are", async () => {
      ask = callOf(open(), { quotaBytes: 640 });
      for (let at = 0; at < 10; at++) await ask("set", { key: `${at}`, value: 1 });
      await expect(ask("set", { key: "more", value: 1 })).rejects.toThrow("640 of 640");
    });

    test("lets an entry shrink and go where it was exceeded already", async () => {
      const kv = open();
      const [wide, narrow] = [callOf(kv), callOf(kv, { quotaBytes: 80 })];
      for (const key of ["a", "b"]) await wide("set", { key, value });
      expect(await narrow("set", { key: "a", value: "x" })).toBe(3);
      await expect(narrow("set", { key: "a", value })).rejects.toThrow("full");
      expect(await narrow("delete", { key: "b" })).toBe(true);
    });

    test("is kept under many calls at once", async () => {
      const kv = open();
      const keys = Array.from({ length: 200 }, (_, at) => `${at % 100}`.padEnd(4, "."));
      const calls = keys.map((key) => callOf(kv, { quotaBytes: 1_010 })("set", { key, value: "x".repeat(95) }));
      const outcomes = await Promise.allSettled(calls);
      expect(outcomes.filter(({ status }) => status === "rejected").length).toBeGreaterThan(0);
      expect(await keysOf(callOf(kv))).toHaveLength(10);
    });
  });

  test("it is a map: any operations answer what those of a map would", async () => {
    const key = fc.constantFrom("a", "b", "ab", "ü", "%", "\u{10ffff}", "a\uffff");
    const value = fc.jsonValue();
    const version = fc.integer({ min: 1, max: 12 });
    const operation = fc.oneof(
      fc.record({ method: fc.constant("get"), key }),
      fc.record({ method: fc.constant("set"), key, value }),
      fc.record({ method: fc.constant("set"), key, value, ifVersion: version }),
      fc.record({ method: fc.constant("set"), key, value, ifAbsent: fc.constant(true) }),
      fc.record({ method: fc.constant("delete"), key }),
      fc.record({ method: fc.constant("delete"), key, ifVersion: version }),
      fc.record({ method: fc.constant("list"), prefix: fc.constantFrom("", "a", "%") }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
        const kv = open();
        const invoke = callOf(kv);
        const model: Model = new Map();
        let last = 0;
        for (const { method, ...args } of operations) {
          const expected = perform(model, method, args, () => ++last);
          const answer = await invoke(method, args);
          const seen = method === "list" ? (answer as Page).keys.map(({ key: name }) => name).toSorted() : answer;
          expect(JSON.stringify(seen)).toBe(JSON.stringify(expected));
        }
        await kv.close?.();
      }),
      { numRuns: 100 },
    );
  });
});
