import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type ClockJump, onClockJump, watchClock } from "../../../../src/kernel/base/os/clock-jumps.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Sets the system's clock ahead, or back, while no other time passes. */
const jump = (ms: number) => vi.setSystemTime(Date.now() + ms);

test("a clock that is set ahead or back by a second or more is told once, with the difference", () => {
  using _watch = watchClock();
  const told: ClockJump[] = [];
  using _listener = onClockJump((one) => told.push(one));
  for (const ms of [3_600_000, 0, -3_600_000, 999, -999, 1_000]) {
    jump(ms);
    vi.advanceTimersByTime(2_000);
  }
  expect(told.map(({ aheadMs }) => aheadMs)).toEqual([3_600_000, -3_600_000, 1_000]);
});

test("a clock that is slowly synchronised is never told, however far it goes", () => {
  using _watch = watchClock();
  const told: ClockJump[] = [];
  using _listener = onClockJump((one) => told.push(one));
  for (let look = 0; look < 100; look++) {
    jump(500);
    vi.advanceTimersByTime(2_000);
  }
  expect(told).toEqual([]);
});

test("a clock that nobody watches any more is not told", () => {
  const told: ClockJump[] = [];
  using _listener = onClockJump((one) => told.push(one));
  watchClock()[Symbol.dispose]();
  jump(5_000);
  vi.advanceTimersByTime(10_000);
  expect(told).toEqual([]);
});
