import fc from "fast-check";
import { expect, test } from "vitest";
import { type RateLimit, RateLimiter } from "../../../../src/kernel/broker/capabilities/rate-limit.ts";

test("a tenant's calls are let through up to the limit, and then one by one as time passes", () => {
  const limiter = new RateLimiter({ calls: 2, perMs: 1_000 });
  expect([limiter.take("a", 0), limiter.take("a", 0), limiter.take("a", 0)]).toEqual([0, 0, 500]);
  expect(limiter.take("a", 250)).toBe(250);
  expect(limiter.take("a", 500)).toBe(0);
  expect(limiter.take("a", 500)).toBe(500);
});

test("tenants do not use up each other's calls", () => {
  const limiter = new RateLimiter({ calls: 1, perMs: 1_000 });
  expect([limiter.take("a", 0), limiter.take("b", 0), limiter.take("a", 0)]).toEqual([0, 0, 1_000]);
});

test("whenever calls come, no stretch of time has more of them than the limit and what fills up meanwhile", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 300 })), (gaps) => {
      const limiter = new RateLimiter({ calls: 5, perMs: 1_000 });
      const taken: number[] = [];
      let nowMs = 0;
      for (const gap of gaps) {
        nowMs += gap;
        if (limiter.take("t", nowMs) === 0) taken.push(nowMs);
      }
      return taken.every((fromMs, at) =>
        taken.slice(at).every((toMs, after) => after + 1 <= 5 + ((toMs - fromMs) * 5) / 1_000 + 1e-6),
      );
    }),
  );
});

test.each([
  [{ calls: 0, perMs: 1 }],
  [{ calls: 1, perMs: 0 }],
  [{ calls: Number.NaN, perMs: 1 }],
  [{ calls: Number.POSITIVE_INFINITY, perMs: 1 }],
  [{ calls: 1, perMs: Number.POSITIVE_INFINITY }],
  [{ calls: "3", perMs: 10 }],
  [{ calls: 3, perMs: "10" }],
])("%o is no limit", (limit) => {
  expect(() => new RateLimiter(limit as RateLimit)).toThrow(RangeError);
});
