import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Capability } from "../../../src/broker/capabilities/capability.ts";
import { SharedStores } from "../../../src/fleet/machine/shared-stores.ts";

let lines: string[];
let own: string | null;
let stores: SharedStores;

const kv: Capability = {
  name: "kv",
  grants: { read: () => true, meet: () => true, uncovered: () => [], describe: () => "all" },
  methods: {},
  open: () => ({ invoke: () => null }),
  storeId: () => own,
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
  lines = [];
  own = "ours";
  stores = new SharedStores({ info: () => undefined, warn: (_, message) => void lines.push(message) });
});
afterEach(() => vi.useRealTimers());

test("a machine has the store of a server where both have the same identity, and both know it", () => {
  expect(stores.has(kv, "ours")).toBe(true);
  expect(stores.has(kv, "another")).toBe(false);
  expect(stores.has(kv, undefined)).toBe(false);
  own = null;
  expect(stores.has(kv, "ours")).toBe(false);
});

test("what keeps nothing is the same everywhere", () => {
  const { storeId: _, ...fetch } = kv;
  expect(stores.has(fetch, undefined)).toBe(true);
});

test("another store is told of once, when it has been another one for a while", () => {
  stores.has(kv, "another");
  expect(lines).toEqual([]);
  for (let n = 0; n < 3; n++) {
    vi.advanceTimersByTime(10_000);
    stores.has(kv, "another");
  }
  expect(lines).toEqual(["kv is left to servers that keep it in another store"]);
});

test("a store that was emptied, and is known again by both, is not told of", () => {
  stores.has(kv, "another");
  own = "another";
  vi.advanceTimersByTime(20_000);
  stores.has(kv, "another");
  own = "ours";
  stores.has(kv, "another");
  expect(lines).toEqual([]);
});
