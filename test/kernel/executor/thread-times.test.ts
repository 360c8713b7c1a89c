import { expect, test } from "vitest";
import { ThreadTimes, type TimeSource } from "../../../src/kernel/executor/thread-times.ts";

function source(more: Partial<TimeSource>): TimeSource {
  return { threadMs: () => null, processMs: () => 0, [Symbol.dispose]: () => undefined, ...more };
}

test("a worker's time is the system's, where the system measures threads", () => {
  const times = new ThreadTimes(source({ threadMs: (thread) => thread * 2 }));
  times.look(0, [3]);
  times.look(10, [3]);
  expect(times.readMs(3, 21)).toBe(42);
});

test("a thread of this process is measured by the system's own numbers", () => {
  using times = new ThreadTimes();
  const before = times.readMs(0, process.pid);
  for (const end = performance.now() + 60; performance.now() < end;);
  expect(times.readMs(0, process.pid)).toBeGreaterThan(before);
});

test("where threads are not measured, the elapsed time of turns is divided by the process's share", () => {
  let processMs = 0;
  const times = new ThreadTimes(source({ processMs: () => processMs }));
  for (let nowMs = 0; nowMs <= 2_000; nowMs += 10) {
    // Two workers compute, and together they get half of a processor.
    times.look(nowMs, [0, 1]);
    processMs += 5;
  }
  expect(times.readMs(0, 0)).toBeGreaterThan(400);
  expect(times.readMs(0, 0)).toBeLessThan(600);
  expect(times.readMs(2, 0)).toBe(0);
});

test("an estimate assumes no more than ten times the elapsed time, and no more than a whole processor", () => {
  let processMs = 0;
  const idle = new ThreadTimes(source({}));
  const busy = new ThreadTimes(source({ processMs: () => (processMs += 100) }));
  for (let nowMs = 0; nowMs <= 1_000; nowMs += 10) for (const times of [idle, busy]) times.look(nowMs, [0]);
  expect(idle.readMs(0, 0)).toBeCloseTo(100, 0);
  expect(busy.readMs(0, 0)).toBeCloseTo(1_000, 0);
});
