import { expect, onTestFinished, test, vi } from "vitest";
import { CELL, cellsOf, turnRecordBuffer, TurnSlot } from "../../../src/kernel/base/protocol/turn-record.ts";
import { ThreadTimes } from "../../../src/kernel/executor/thread-times.ts";
import { TurnWatch } from "../../../src/kernel/executor/watch.ts";

/** A watch of one worker whose thread uses time only when the test says so. */
function watched() {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const record = turnRecordBuffer(1);
  const slot = new TurnSlot(record, 0, undefined);
  slot.cells[CELL.thread] = 1;
  let cpuMs = 1_000;
  const times = new ThreadTimes({ threadMs: () => cpuMs, processMs: () => 0, [Symbol.dispose]: () => undefined });
  const overruns: number[] = [];
  const watch = new TurnWatch(record, { overrun: (call) => overruns.push(call), memory: () => undefined }, null, times);
  onTestFinished(() => {
    watch[Symbol.dispose]();
    vi.useRealTimers();
  });
  const use = (ms: number): void => {
    cpuMs += ms;
    vi.advanceTimersByTime(10);
  };
  return { slot, watch, use, overruns, condemned: () => Atomics.load(cellsOf(record, 0), CELL.condemned) };
}

test("a turn is condemned by its number when its thread has used more than its budget", () => {
  const { slot, use, condemned } = watched();
  const turn = slot.begin(7, 100, performance.now(), 1);
  use(0);
  use(100);
  expect(condemned()).toBe(0);
  use(1);
  expect(condemned()).toBe(turn);
});

test("a turn is not condemned for time in which its thread did not run", () => {
  const { slot, use, condemned, overruns } = watched();
  slot.begin(7, 100, performance.now() - 1_500, 1);
  for (let look = 0; look < 50; look++) use(0);
  expect(condemned()).toBe(0);
  expect(overruns).toEqual([]);
});

test("a turn is not condemned for the time of the turn before", () => {
  const { slot, use, condemned } = watched();
  slot.begin(7, 100, performance.now(), 1);
  use(0);
  use(90);
  slot.end();
  slot.begin(8, 100, performance.now(), 1);
  use(90);
  use(90);
  expect(condemned()).toBe(0);
});

test("a turn that goes on after it was condemned is reported", () => {
  const { slot, use, overruns } = watched();
  slot.begin(7, 100, performance.now(), 1);
  use(0);
  use(2_000);
  // A watch that was late itself gives the terminator its time.
  expect(overruns).toEqual([]);
  use(300);
  expect(overruns).toEqual([7]);
});

test("an interrupted call's turn is condemned, also one that begins later, and no other call's", () => {
  const { slot, watch, use, condemned } = watched();
  watch.interrupt(8);
  slot.begin(7, 100, performance.now(), 1);
  use(1);
  use(1);
  expect(condemned()).toBe(0);
  const turn = slot.begin(8, 100, performance.now(), 1);
  use(1);
  use(1);
  expect(condemned()).toBe(turn);
});

test("a turn of several calls is not interrupted for one of them", () => {
  const { slot, watch, use, condemned } = watched();
  watch.interrupt(7);
  slot.begin(-7, 100, performance.now(), 1);
  use(1);
  use(1);
  expect(condemned()).toBe(0);
});
