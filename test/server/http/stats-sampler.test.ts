import fc from "fast-check";
import { expect, test } from "vitest";
import { Latencies } from "../../../src/server/http/stats-sampler.ts";

test("a quantile is within a twentieth of the one that sorting finds", () => {
  const times = fc.array(fc.double({ min: 0.01, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(times, fc.constantFrom(0.5, 0.95, 0.99, 1), (all, share) => {
      const latencies = new Latencies();
      for (const ms of all) latencies.observe(ms);
      const sorted = all.toSorted((a, b) => a - b);
      const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
      const found = latencies.quantile(share) ?? NaN;
      expect(Math.abs(found / exact - 1)).toBeLessThan(0.05);
    }),
  );
});

test("there is no quantile of nothing", () => {
  expect(new Latencies().quantile(0.5)).toBeNull();
});

test("times beyond all buckets count for the last one, and none for the first", () => {
  const latencies = new Latencies();
  latencies.observe(0);
  latencies.observe(Number.MAX_VALUE);
  expect(latencies.quantile(0.5)).toBeLessThan(0.02);
  expect(latencies.quantile(1)).toBeGreaterThan(1e6);
});
