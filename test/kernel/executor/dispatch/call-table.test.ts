import fc from "fast-check";
import { expect, test } from "vitest";
import { CallTable } from "../../../../src/kernel/executor/dispatch/call-table.ts";

interface Call {
  readonly callNumber: number;
}

/** Numbers that meet in one slot, and such that follow each other. */
const callNumber = fc.oneof(fc.nat(50), fc.nat(2 ** 32), fc.maxSafeNat());
const step = fc.record({ isAdded: fc.boolean(), callNumber });

test("a table of calls has what was added and not deleted, as a map would", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const table = new CallTable<Call>();
      const map = new Map<number, Call>();
      for (const { isAdded, callNumber: given } of steps) {
        if (!isAdded) {
          table.delete(given);
          map.delete(given);
        } else if (!map.has(given)) {
          const call = { callNumber: given };
          table.add(call);
          map.set(given, call);
        }
        expect(table.get(given)).toBe(map.get(given));
      }
      expect(table.size).toBe(map.size);
      expect(new Set(table.list())).toEqual(new Set(map.values()));
    }),
  );
});

test("a table grows with its calls and finds those that are left when most have ended", () => {
  const table = new CallTable<Call>();
  const calls = Array.from({ length: 20_000 }, (_, index) => ({ callNumber: index * 7 }));
  for (const call of calls) table.add(call);
  const [ended, left] = [calls.filter((_, index) => index % 50 > 0), calls.filter((_, index) => index % 50 === 0)];
  for (const call of ended) table.delete(call.callNumber);
  expect(table.list().toSorted((a, b) => a.callNumber - b.callNumber)).toEqual(left);
  expect(calls.filter((call) => table.get(call.callNumber) === call)).toEqual(left);
});

test("a number that no call has is not found", () => {
  const table = new CallTable<Call>();
  table.add({ callNumber: 5 });
  for (const none of [0, -5, 5.5, 5 + 2 ** 32, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(table.get(none)).toBeUndefined();
  }
});
