import { expect, test } from "vitest";
import { EventLoopSpin } from "../../../src/kernel/base/event-loop-spin.ts";
import { SpinTime } from "../../../src/kernel/base/spin-time.ts";

const nextTurn = () => new Promise((done) => setImmediate(done));

test("the event loop does not sleep until the time is over, which begins anew with each extension", async () => {
  let nowMs = 100;
  const spin = new EventLoopSpin(new SpinTime(0.5, () => nowMs));
  expect(spin.isOn).toBe(false);
  spin.extend();
  nowMs += 0.4;
  await nextTurn();
  expect(spin.isOn).toBe(true);
  spin.extend();
  nowMs += 0.4;
  await nextTurn();
  expect(spin.isOn).toBe(true);
  nowMs += 0.1;
  await nextTurn();
  expect(spin.isOn).toBe(false);
});

test("no time at all leaves the event loop alone", () => {
  const spin = new EventLoopSpin(new SpinTime(0, () => 1));
  spin.extend();
  expect(spin.isOn).toBe(false);
});

test("a thread that others kept from its processor sleeps at once for a while", () => {
  let nowMs = 100;
  const time = new SpinTime(5, () => nowMs);
  time.extend();
  nowMs += 0.5;
  expect(time.lookAgain()).toBe(true);
  nowMs += 2;
  expect(time.lookAgain()).toBe(false);
  nowMs += 50;
  time.extend();
  expect(time.lookAgain()).toBe(false);
  nowMs += 50;
  time.extend();
  expect(time.lookAgain()).toBe(true);
});

test("a thread that gets its message as soon as it stops looking sleeps at once, each time twice as long", () => {
  let nowMs = 100;
  const time = new SpinTime(0.5, () => nowMs);
  const lookUntilTheEnd = () => {
    time.extend();
    expect(time.lookAgain()).toBe(true);
    nowMs += 0.5;
    expect(time.lookAgain()).toBe(false);
  };
  const restMs = () => {
    nowMs += 0.1;
    const fromMs = nowMs;
    for (time.extend(); !time.lookAgain(); time.extend()) nowMs += 0.5;
    nowMs += 0.6;
    expect(time.lookAgain()).toBe(false);
    return Math.round(nowMs - 0.6 - fromMs);
  };
  lookUntilTheEnd();
  // A message that comes later was not waiting.
  nowMs += 1;
  lookUntilTheEnd();
  expect(Array.from({ length: 9 }, restMs)).toEqual([1, 2, 4, 8, 16, 32, 64, 100, 100]);
});

test("messages that come while a thread looks shorten its next rest", () => {
  let nowMs = 100;
  const time = new SpinTime(0.5, () => nowMs);
  const missMessage = () => {
    time.extend();
    nowMs += 0.5;
    time.lookAgain();
    time.extend();
  };
  missMessage();
  nowMs += 1;
  missMessage();
  nowMs += 2;
  for (let message = 0; message < 3; message++) time.extend();
  missMessage();
  expect(time.lookAgain()).toBe(false);
  nowMs += 1;
  time.extend();
  expect(time.lookAgain()).toBe(true);
});
