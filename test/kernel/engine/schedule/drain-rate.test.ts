import { expect, test } from "vitest";
import { DrainRate } from "../../../../src/kernel/engine/schedule/drain-rate.ts";

test("the advice is one second while nothing is known", () => {
  expect(new DrainRate().retryAfterMs(100)).toBe(1_000);
});

test("the time until the first completion does not count as a rate of zero", () => {
  const rate = new DrainRate();
  rate.begin(0, 0);
  rate.observe(0, 20);
  expect(rate.retryAfterMs(100)).toBe(1_000);
});

test("the first observation covers all the time since the queue became busy", () => {
  const rate = new DrainRate();
  rate.begin(0, 0);
  rate.observe(0, 980);
  rate.observe(50, 1_000);
  expect(rate.retryAfterMs(100)).toBe(2_000);
});

test("the advice is the time in which the waiting calls drain at a steady rate", () => {
  const rate = new DrainRate();
  rate.begin(0, 0);
  for (let tick = 1; tick <= 500; tick++) rate.observe(tick * 2, tick * 20);
  expect(rate.retryAfterMs(300)).toBeCloseTo(3_000, -1);
});

test("the advice follows a rate that changes", () => {
  const rate = new DrainRate();
  rate.begin(0, 0);
  for (let tick = 1; tick <= 500; tick++) rate.observe(tick * 2, tick * 20);
  for (let tick = 501; tick <= 3_000; tick++) rate.observe(1_000 + (tick - 500) * 20, tick * 20);
  expect(rate.retryAfterMs(300)).toBeLessThan(320);
});

test("the advice is never below 10 ms", () => {
  const rate = new DrainRate();
  rate.begin(0, 0);
  rate.observe(1_000_000, 20);
  expect(rate.retryAfterMs(1)).toBe(10);
  expect(rate.retryAfterMs(0)).toBe(10);
});

test("the advice is never above a minute, even when nothing ends any more", () => {
  const rate = new DrainRate();
  rate.begin(0, 0);
  rate.observe(1, 20);
  for (let tick = 2; tick < 10_000; tick++) rate.observe(1, tick * 20);
  expect(rate.retryAfterMs(1)).toBe(60_000);
});

test("time in which nobody waited does not slow the rate down", () => {
  const rate = new DrainRate();
  rate.begin(0, 0);
  rate.observe(100, 1_000);
  rate.begin(100, 3_600_000);
  expect(rate.retryAfterMs(100)).toBe(1_000);
});

test("an observation at the time of the last one changes nothing", () => {
  const rate = new DrainRate();
  rate.begin(0, 0);
  rate.observe(50, 1_000);
  rate.observe(60, 1_000);
  expect(rate.retryAfterMs(100)).toBe(2_000);
});
