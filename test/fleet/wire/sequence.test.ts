import fc from "fast-check";
import { expect, test } from "vitest";
import { idAfter } from "../../../src/fleet/wire/inbox-script.ts";
import { SequenceTracker } from "../../../src/fleet/wire/inbox.ts";

test("letters are read once, whatever overtakes whatever, and comes again", () => {
  const order = fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
  fc.assert(
    fc.property(order, fc.array(fc.nat(39)), (first, again) => {
      const numbers = new SequenceTracker();
      expect(first.every((number) => numbers.accept(number))).toBe(true);
      expect(again.some((at) => numbers.accept(first[at % first.length] ?? 1))).toBe(false);
    }),
  );
});

test("what was passed over long ago is not read any more", () => {
  const numbers = new SequenceTracker();
  expect([numbers.accept(1), numbers.accept(1_000), numbers.accept(2), numbers.accept(999)]).toEqual([
    true,
    true,
    false,
    true,
  ]);
});

test.each([
  ["1-0", "1-1"],
  ["1795357940573-9007199254740993", "1795357940573-9007199254740994"],
  ["5-18446744073709551615", "6-0"],
])("nothing in a stream lies between %s and %s", (id, next) => {
  expect(idAfter(id)).toBe(next);
});
