import fc from "fast-check";
import { expect, test } from "vitest";
import { DeadlineWheel } from "../../../../src/kernel/engine/schedule/deadline-wheel.ts";
import { ConcurrencyCap, Tenant, Waiting } from "../../../../src/kernel/engine/schedule/flows.ts";

const idle = { start: () => undefined, refuse: () => undefined };

const flow = new Tenant("tenant").flow(0);
const gate = new ConcurrencyCap("", Infinity);

function due(deadlineMs: number): Waiting {
  return new Waiting(idle, flow, gate, undefined, 0, deadlineMs);
}

test("a call whose deadline has passed is handed over once", () => {
  const wheel = new DeadlineWheel(20, 0);
  const call = due(30);
  wheel.add(call);
  expect(wheel.expire(20)).toEqual([]);
  expect(wheel.expire(40)).toEqual([call]);
  expect(wheel.expire(60)).toEqual([]);
});

test("a deadline further away than the ring is long waits for its own turn", () => {
  const wheel = new DeadlineWheel(20, 0);
  const call = due(100_000);
  wheel.add(call);
  expect(wheel.expire(99_980)).toEqual([]);
  expect(wheel.expire(100_000)).toEqual([call]);
});

test("a pause of the process longer than the ring loses no deadline", () => {
  const wheel = new DeadlineWheel(20, 0);
  const calls = [due(5), due(10_000), due(25_000)];
  for (const call of calls) wheel.add(call);
  expect(new Set(wheel.expire(1_000_000))).toEqual(new Set(calls));
});

test("a deadline that already passed is due at the next tick", () => {
  const wheel = new DeadlineWheel(20, 1_000);
  const call = due(0);
  wheel.add(call);
  expect(wheel.expire(1_020)).toEqual([call]);
});

test("an infinite deadline is never due, and its call can be removed", () => {
  const wheel = new DeadlineWheel(20, 0);
  const call = due(Infinity);
  wheel.add(call);
  expect(wheel.expire(10_000_000)).toEqual([]);
  wheel.remove(call);
  expect(wheel.clear()).toEqual([]);
});

test("removing a call twice is the same as removing it once", () => {
  const wheel = new DeadlineWheel(20, 0);
  const [first, second] = [due(30), due(30)];
  wheel.add(first);
  wheel.add(second);
  wheel.remove(first);
  wheel.remove(first);
  expect(wheel.expire(100)).toEqual([second]);
});

test("calls are never handed over early, nor more than a tick late, nor after their removal", () => {
  const step = fc.record({ passMs: fc.nat(500), queueMs: fc.nat(60_000), shouldRemove: fc.boolean(), which: fc.nat() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.nat(1_000_000), (steps, beginMs) => {
      const wheel = new DeadlineWheel(20, beginMs);
      const present = new Set<Waiting>();
      let nowMs = beginMs;
      for (const { passMs, queueMs, shouldRemove, which } of steps) {
        nowMs += passMs;
        for (const call of wheel.expire(nowMs)) {
          expect(call.deadlineMs).toBeLessThanOrEqual(nowMs);
          expect(present.delete(call)).toBe(true);
        }
        for (const call of present) expect(call.deadlineMs).toBeGreaterThan(nowMs - 20);
        const victim = [...present][which % Math.max(1, present.size)];
        if (shouldRemove && victim !== undefined) {
          wheel.remove(victim);
          present.delete(victim);
        }
        const call = due(nowMs + queueMs);
        wheel.add(call);
        present.add(call);
      }
      expect(new Set(wheel.clear())).toEqual(present);
    }),
  );
});

test("a call that was removed already takes no others with it when it is removed again, whatever its bucket", () => {
  for (const deadlineMs of [10, 30, 50]) {
    const wheel = new DeadlineWheel(20, 0);
    const [first, second] = [due(deadlineMs), due(deadlineMs)];
    wheel.add(first);
    wheel.add(second);
    wheel.remove(first);
    wheel.remove(first);
    expect(wheel.expire(100)).toEqual([second]);
  }
});

test("calls of one bucket are removed in any order", () => {
  fc.assert(
    fc.property(fc.shuffledSubarray([0, 1, 2, 3]), (order) => {
      const wheel = new DeadlineWheel(20, 0);
      const calls = [due(30), due(30), due(30), due(30)];
      for (const call of calls) wheel.add(call);
      for (const at of order) for (const call of calls.slice(at, at + 1)) wheel.remove(call);
      expect(new Set(wheel.expire(100))).toEqual(new Set(calls.filter((_, at) => !order.includes(at))));
    }),
  );
});
