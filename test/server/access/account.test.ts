import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Account } from "../../../src/server/access/account.ts";

const K = { name: "k", tenant: "t", roles: ["execute"] } as const;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test("no more calls are taken in any window than there are, whenever they come", async () => {
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 5 }),
    fc.integer({ min: 10, max: 1_000 }),
    fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 60 }),
    async (calls, perMs, pauses) => {
      const account = new Account({ ...K, rate: { calls, perMs } });
      let windowEndsMs = -1;
      let taken = 0;
      for (const pauseMs of pauses) {
        vi.advanceTimersByTime(pauseMs);
        const nowMs = Date.now();
        const refusal = await account.take();
        if (nowMs >= windowEndsMs) [windowEndsMs, taken] = [nowMs + perMs, 0];
        if (refusal === null) taken++;
        // It says exactly when there is more, and says so only where there is no more.
        else expect({ taken, again: nowMs + refusal.retryAfterMs }).toEqual({ taken: calls, again: windowEndsMs });
        expect(taken).toBeLessThanOrEqual(calls);
      }
    },
  );
  await fc.assert(property, { numRuns: 200 });
});

test("processor time that was overspent is waited for to the window's end, and then forgotten", async () => {
  const account = new Account({ ...K, quota: { cpuSeconds: 1, windowMs: 10_000 } });
  account.charge(400);
  expect(await account.take()).toBe(null);
  account.charge(5_000);
  expect(await account.take()).toMatchObject({ retryAfterMs: 10_000 });
  vi.advanceTimersByTime(9_999);
  expect(await account.take()).toMatchObject({ retryAfterMs: 1 });
  vi.advanceTimersByTime(1);
  expect(await account.take()).toBe(null);
  expect(await account.standings()).toMatchObject([{ name: "cpu", remaining: 1_000_000 }]);
});

test("processor time far below a millisecond adds up", async () => {
  const account = new Account({ ...K, quota: { cpuSeconds: 0.001, windowMs: 10_000 } });
  for (let at = 0; at < 99; at++) account.charge(0.01);
  expect(await account.take()).toBe(null);
  account.charge(0.01);
  expect(await account.take()).not.toBe(null);
});

test("a key without a rate and a quota has nothing to run out of", async () => {
  const account = new Account(K);
  account.charge(1e9);
  for (let at = 0; at < 1_000; at++) expect(await account.take()).toBe(null);
  expect(await account.standings()).toEqual([]);
});
