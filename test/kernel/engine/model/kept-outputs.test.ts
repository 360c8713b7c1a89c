import { expect, test, vi } from "vitest";
import { ChunkedText } from "../../../../src/kernel/base/reading/chunked-text.ts";
import { KEPT_MS, KeptOutputs } from "../../../../src/kernel/engine/model/kept-outputs.ts";

const MIB = 1024 * 1024;

function output(mib: number, tool = "tool") {
  const text = new ChunkedText();
  text.push("x".repeat(mib * MIB));
  return { kind: "text", text, tool } as const;
}

const acme = { tenant: "acme", key: null };

test("an output is found by its tenant and key only, for 15 minutes", () => {
  let nowMs = 0;
  using kept = new KeptOutputs({ now: () => nowMs });
  const owner = { tenant: "acme", key: "one" };
  expect(kept.keep("call", output(1), owner)).toBe("call");
  expect(kept.find("call", owner)?.tool).toBe("tool");
  for (const other of [acme, { tenant: "acme", key: "two" }, { tenant: "other", key: "one" }]) {
    expect(kept.find("call", other)).toBeUndefined();
  }
  nowMs = KEPT_MS;
  expect(kept.find("call", owner)).toBeUndefined();
});

test("among many tenants, one with most makes room, and not one with little", () => {
  using kept = new KeptOutputs({ bytes: 16 * MIB });
  const owner = (tenant: string) => ({ tenant, key: null });
  for (let at = 0; at < 8; at++) kept.keep("1", output(at === 5 ? 4 : 1), owner(`t${at}`));
  for (const id of ["2", "3", "4", "5"]) kept.keep(id, output(1), owner(`t${id}`));
  expect(kept.bytes).toBeLessThanOrEqual(16 * MIB);
  kept.keep("late", output(4), owner("late"));
  expect(kept.find("1", owner("t5"))).toBeUndefined();
  for (const tenant of ["t0", "t1", "t6", "t7"]) expect(kept.find("1", owner(tenant))).toBeDefined();
});

test("two outputs of calls with one id are found by two ids", () => {
  using kept = new KeptOutputs();
  kept.keep("call_1", output(1, "a"), acme);
  const second = kept.keep("call_1", output(1, "b"), acme);
  expect([kept.find("call_1", acme)?.tool, kept.find(second ?? "", acme)?.tool]).toEqual(["a", "b"]);
});

test("many outputs of calls with one id are kept without a search through their ids", () => {
  using kept = new KeptOutputs();
  const empty = { ...output(0), text: new ChunkedText() };
  using has = vi.spyOn(Map.prototype, "has");
  const ids = Array.from({ length: 500 }, () => kept.keep("same", empty, acme));
  expect(new Set(ids).size).toBe(500);
  expect(has.mock.calls.length).toBeLessThan(3 * 500);
});

test("a tenant has a quarter of the room: its own oldest outputs go first", () => {
  using kept = new KeptOutputs({ bytes: 16 * MIB });
  kept.keep("other", output(4), { tenant: "other", key: null });
  for (const id of ["1", "2", "3"]) kept.keep(id, output(2), acme);
  expect(["1", "2", "3"].map((id) => kept.find(id, acme) !== undefined)).toEqual([false, true, true]);
  expect(kept.find("other", { tenant: "other", key: null })).toBeDefined();
  expect(kept.keep("large", output(5), acme)).toBeNull();
  for (const tenant of ["a", "b", "c", "d", "e"]) kept.keep("1", output(4), { tenant, key: null });
  expect(kept.bytes).toBeLessThanOrEqual(16 * MIB);
  expect(kept.find("1", { tenant: "e", key: null })).toBeDefined();
});
