import fc from "fast-check";
import { expect, test } from "vitest";
import { judge } from "../../bench/revisions/verdict.ts";

const cost = fc.double({ min: 1, max: 2, noNaN: true });
const costs = fc.array(fc.tuple(cost, cost), { minLength: 1, maxLength: 40 });

/** As many rounds as there are ratios, with each of them. */
const rounds = (ratios: readonly number[]) => ratios.map((ratio) => [ratio * 100, 100] as const);

test("the interval holds the median, and a bound within it is kept", () => {
  fc.assert(
    fc.property(costs, (pairs) => {
      const { ratio, interval } = judge(pairs, 1);
      expect(interval[0]).toBeLessThanOrEqual(ratio);
      expect(interval[1]).toBeGreaterThanOrEqual(ratio);
      expect(judge(pairs, ratio).isSlower).toBe(false);
    }),
  );
});

test.each([
  [1, 1, 1],
  [5, 1, 5],
  [6, 1, 6],
  [9, 2, 8],
  [15, 4, 12],
  [25, 8, 18],
])(
  "of %i rounds the interval goes from value %i to value %i, as tables of the sign test have it",
  (count, low, high) => {
    const ratios = Array.from({ length: count }, (_, index) => index + 1);
    expect(judge(rounds(ratios), 1).interval).toEqual([low, high]);
  },
);

test("a tenth slower in most rounds is slower", () => {
  const ratios = [1.1, 1.12, 1.08, 0.9, 1.11, 1.3, 1.1, 1.09, 1.1, 1.12, 0.95, 1.1, 1.1, 1.13, 1.07];
  expect(judge(rounds(ratios), 1.03)).toMatchObject({ isSlower: true });
  expect(judge(rounds(ratios), 1.25)).toMatchObject({ isSlower: false });
});

test("a tenth slower and a tenth faster in turns is noise", () => {
  const ratios = Array.from({ length: 15 }, (_, index) => (index % 2 === 0 ? 1.1 : 0.9));
  expect(judge(rounds(ratios), 1.03)).toMatchObject({ isSlower: false });
});
