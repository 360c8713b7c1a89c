import fc from "fast-check";
import { expect, test } from "vitest";
import { Timers } from "../../../src/kernel/guest/timers.ts";

function clockwork() {
  const state = { nowMs: 0, dueMs: Number.POSITIVE_INFINITY };
  const timers = new Timers(
    () => state.nowMs,
    (dueMs) => {
      state.dueMs = dueMs;
    },
  );
  /** Goes on to the next armed time and fires, as the worker does. */
  const step = (): boolean => {
    if (state.dueMs === Number.POSITIVE_INFINITY) return false;
    state.nowMs = Math.max(state.nowMs, state.dueMs);
    state.dueMs = Number.POSITIVE_INFINITY;
    timers.fire((error) => {
      throw error;
    });
    return true;
  };
  return { timers, state, step };
}

test("timers fire in the order of their times, and of their making where those are the same", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50), { maxLength: 60 }), (delays) => {
      const { timers, step } = clockwork();
      const fired: number[] = [];
      for (const [index, delay] of delays.entries()) timers.set(() => fired.push(index), delay, [], false);
      while (step());
      const expected = delays.map((delay, index) => ({ delay: Math.max(1, delay), index }));
      expect(fired).toEqual(
        expected.toSorted((a, b) => a.delay - b.delay || a.index - b.index).map(({ index }) => index),
      );
    }),
  );
});

test("a cleared timer does not fire, also when it is cleared by one that fires with it", () => {
  const { timers, step } = clockwork();
  const fired: string[] = [];
  timers.set(() => timers.clear(second), 5, [], false);
  const second = timers.set(() => fired.push("second"), 5, [], false);
  while (step());
  expect(fired).toEqual([]);
});

test("an interval fires until it is cleared", () => {
  const { timers, state, step } = clockwork();
  const times: number[] = [];
  const id = timers.set(() => times.push(state.nowMs), 10, [], true);
  for (let i = 0; i < 3; i++) step();
  timers.clear(id);
  expect(step()).toBe(true);
  expect(times).toEqual([10, 20, 30]);
  expect(step()).toBe(false);
});

test("a timer gets its arguments", () => {
  const { timers, step } = clockwork();
  const got: unknown[][] = [];
  timers.set((...args: unknown[]) => got.push(args), 1, ["a", 2], false);
  step();
  expect(got).toEqual([["a", 2]]);
});

test("one callback's exception does not stop the others", () => {
  const { timers, state } = clockwork();
  const errors: unknown[] = [];
  const fired: string[] = [];
  timers.set(
    () => {
      throw new Error("mine");
    },
    1,
    [],
    false,
  );
  timers.set(() => fired.push("other"), 1, [], false);
  state.nowMs = 1;
  timers.fire((error) => errors.push(error));
  expect([errors.length, fired]).toEqual([1, ["other"]]);
});

test("a call holds a bounded number of timers", () => {
  const { timers } = clockwork();
  for (let i = 0; i < 10_000; i++) timers.set(() => undefined, 1, [], false);
  expect(() => timers.set(() => undefined, 1, [], false)).toThrow(RangeError);
});
