import { RateLimiterMemory } from "rate-limiter-flexible";
import { afterEach, expect, test, vi } from "vitest";
import { Failures } from "../../../src/server/access/failures.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

async function noteMany(failures: Failures, address: string, count: number): Promise<number> {
  let waitMs = 0;
  for (let at = 0; at < count; at++) waitMs = await failures.note(address);
  return waitMs;
}

test("an address has twenty wrong keys a minute, and then waits", async () => {
  const failures = new Failures();
  expect(await noteMany(failures, "192.0.2.1", 20)).toBe(0);
  expect(await failures.note("192.0.2.1")).toBeGreaterThan(0);
  expect(await failures.note("192.0.2.1")).toBeLessThanOrEqual(60_000);
});

test("an address whose next wrong key waits is exhausted, and no other is", async () => {
  const failures = new Failures();
  await noteMany(failures, "192.0.2.1", 19);
  expect(await failures.isExhausted("192.0.2.1")).toBe(false);
  await failures.note("192.0.2.1");
  expect(await failures.isExhausted("192.0.2.1")).toBe(true);
  expect(await failures.isExhausted("198.51.100.7")).toBe(false);
});

test("addresses of one network of version 6 are one", async () => {
  const failures = new Failures();
  for (let at = 0; at < 20; at++) await failures.note(`2001:db8:1:2::${at.toString(16)}`);
  expect(await failures.note("2001:db8:1:2:ffff::1")).toBeGreaterThan(0);
});

test("an address of version 4 is the same in the notation of version 6", async () => {
  const failures = new Failures();
  await noteMany(failures, "192.0.2.1", 20);
  expect(await failures.note("::ffff:192.0.2.1")).toBeGreaterThan(0);
});

test("a zone is no part of an address", async () => {
  const failures = new Failures();
  await noteMany(failures, "fe80::1%eth0", 20);
  expect(await failures.note("fe80::1%eth1")).toBeGreaterThan(0);
});

test("what is remembered has an end, however many addresses there are", async () => {
  const consumed = vi.spyOn(RateLimiterMemory.prototype, "consume");
  const failures = new Failures();
  for (let at = 0; at < 50_000; at++) await failures.note(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`);
  const places = new Set(consumed.mock.calls.map(([place]) => place));
  expect(places.size).toBeGreaterThan(4_000);
  expect(places.size).toBeLessThanOrEqual(4_096);
});
