import fc from "fast-check";
import { expect, test } from "vitest";
import { TurnTimeEstimate } from "../../../../src/kernel/executor/dispatch/turn-time-estimate.ts";

function paceOf(...turnsMs: readonly number[]): TurnTimeEstimate {
  const pace = new TurnTimeEstimate();
  for (const turnMs of turnsMs) pace.record(1, turnMs);
  return pace;
}

const quick = Array.from({ length: 20 }, () => 0.005);

test("nothing is known of a tool before its first turn has ended", () => {
  expect(paceOf().isUnknown).toBe(true);
  expect(paceOf(0.005)).toMatchObject({ isUnknown: false, isSlow: false });
});

test("calls go together when enough of them were quick, and not before", () => {
  expect(paceOf(0.005, 0.005).together).toBe(1);
  expect(paceOf(...quick).together).toBeGreaterThan(30);
});

test("the first, which also warms up, does not keep a tool from being quick for long", () => {
  expect(paceOf(1, ...quick).together).toBeGreaterThan(1);
});

test("one long turn makes a tool slow, and it takes more than one short one to forget it", () => {
  const pace = paceOf(...quick, 1_000);
  expect(pace).toMatchObject({ isSlow: true, together: 1 });
  pace.record(1, 0.005);
  expect(pace.isSlow).toBe(true);
});

test("a turn that several calls shared counts for each of them", () => {
  const pace = paceOf(...quick);
  pace.record(100, 0.5);
  expect(pace.together).toBeGreaterThan(30);
});

test("a pace that was forgotten is unknown", () => {
  const pace = paceOf(...quick);
  pace.forget();
  expect(pace).toMatchObject({ isUnknown: true, together: 1 });
});

test("what goes together never takes more than a millisecond, as far as anybody knows", () => {
  const turns = fc.array(
    fc.record({ calls: fc.integer({ min: 1, max: 200 }), turnMs: fc.double({ min: 0, max: 1e5, noNaN: true }) }),
  );
  fc.assert(
    fc.property(turns, (noted) => {
      const pace = new TurnTimeEstimate();
      for (const { calls, turnMs } of noted) pace.record(calls, turnMs);
      expect(pace.together).toBeGreaterThanOrEqual(1);
      expect(pace.together).toBeLessThanOrEqual(128);
      if (pace.together > 1) expect(pace.expectMs(pace.together)).toBeLessThanOrEqual(1);
    }),
  );
});

test("the first turn counts whole, a longer one by half, and a shorter one by a fifth", () => {
  const pace = paceOf(10);
  expect(pace.expectMs(1)).toBeCloseTo(10);
  pace.record(1, 20);
  expect(pace.expectMs(1)).toBeCloseTo(15);
  pace.record(1, 5);
  expect(pace.expectMs(3)).toBeCloseTo(3 * 13);
});

test("a tool is slow from 25 ms on, and quick below a fifth of a millisecond", () => {
  expect([paceOf(24.9).isSlow, paceOf(25).isSlow]).toEqual([false, true]);
  const turns = (turnMs: number) => Array.from({ length: 20 }, () => turnMs);
  expect(paceOf(...turns(0.19)).together).toBe(5);
  expect(paceOf(...turns(0.2)).together).toBe(1);
});
