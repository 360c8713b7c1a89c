import { expect, test } from "vitest";
import { EventLoopSpin } from "../../src/base/event-loop-spin.ts";

const nextTurn = () => new Promise((done) => setImmediate(done));

test("the event loop does not sleep until the time is over, which begins anew with each extension", async () => {
  let nowMs = 0;
  const spin = new EventLoopSpin(5, () => nowMs);
  expect(spin.isOn).toBe(false);
  spin.extend();
  nowMs = 4;
  await nextTurn();
  expect(spin.isOn).toBe(true);
  spin.extend();
  nowMs = 8;
  await nextTurn();
  expect(spin.isOn).toBe(true);
  nowMs = 9;
  await nextTurn();
  expect(spin.isOn).toBe(false);
});

test("no time at all leaves the event loop alone", () => {
  const spin = new EventLoopSpin(0, () => 0);
  spin.extend();
  expect(spin.isOn).toBe(false);
});
