import { expect, test } from "vitest";
import { ProcessorClock } from "../../../../src/kernel/executor/worker/processor-clock.ts";

/** Uses so much processor time, however busy the machine is. */
function compute(ms: number): void {
  const usedMs = () => (process.cpuUsage().user + process.cpuUsage().system) / 1e3;
  for (const endMs = usedMs() + ms; usedMs() < endMs;);
}

function wait(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test("a turn is not charged for the time in which its thread did not run", () => {
  const clock = new ProcessorClock();
  wait(200);
  expect(clock.charge(200)).toBeLessThan(50);
});

test("a turn that computes is charged its processor time", () => {
  const clock = new ProcessorClock();
  const { user, system } = process.cpuUsage();
  const startMs = performance.now();
  compute(100);
  const chargedMs = clock.charge(performance.now() - startMs);
  const used = process.cpuUsage({ user, system });
  expect(chargedMs).toBeGreaterThan(10);
  expect(chargedMs).toBeLessThan((used.user + used.system) / 1e3 + 1);
});

test("what short turns were charged is not charged again", () => {
  const clock = new ProcessorClock();
  const startMs = performance.now();
  compute(40);
  for (let turn = 0; turn < 100; turn++) expect(clock.charge(0.9)).toBe(0.9);
  expect(clock.charge(performance.now() - startMs)).toBeLessThan(5);
});

test("time that no call used is charged to none", () => {
  const clock = new ProcessorClock();
  compute(60);
  clock.skip();
  expect(clock.charge(60)).toBeLessThan(20);
});
