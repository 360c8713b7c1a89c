import { expect, test } from "vitest";
import { KeepRate } from "../../../../src/kernel/engine/call/keep-rate.ts";

const NOW_MS = 1_800_000_000_000;

/** Keeps `count` calls of a tenant within one millisecond; returns how many were kept. */
function keep(rate: KeepRate, tenant: string, count: number, nowMs = NOW_MS, isFailed = false): number {
  let kept = 0;
  for (let at = 0; at < count; at++) if (rate.standsFor(tenant, isFailed, nowMs) > 0) kept++;
  return kept;
}

test("2,000 calls of a tenant at once are kept, and 500 a second after that", () => {
  const rate = new KeepRate();
  expect(keep(rate, "acme", 3_000)).toBe(2_000);
  expect(keep(rate, "acme", 3_000, NOW_MS + 1_000)).toBe(500);
  expect(keep(rate, "acme", 3_000, NOW_MS + 3_600_000)).toBe(2_000);
});

test("a call that is kept stands for those before it that were not", () => {
  const rate = new KeepRate();
  let [calls, stoodFor] = [0, 0];
  for (let ms = 0; ms < 1_000; ms++) {
    for (let at = 0; at < 10; at++, calls++) stoodFor += rate.standsFor("acme", false, NOW_MS + ms);
  }
  expect(stoodFor).toBeGreaterThan(calls - 20);
  expect(stoodFor).toBeLessThanOrEqual(calls);
});

test("neither another tenant nor a success takes the place of a call", () => {
  const rate = new KeepRate();
  keep(rate, "flood", 100_000);
  expect(keep(rate, "acme", 100)).toBe(100);
  expect(keep(rate, "flood", 100, NOW_MS, true)).toBe(100);
});

test("tenants without number do not raise the rate of all", () => {
  const rate = new KeepRate();
  let kept = 0;
  for (let at = 0; at < 20_000; at++) kept += keep(rate, `tenant${at}`, 1);
  expect(kept).toBe(10_000);
});
