import { expect, test } from "vitest";
import { Dice, seedOf } from "./dice.ts";
import { INNOCENTS } from "./innocents.ts";

/** What the first calls of a run would be. */
function draw(seed: number): string {
  const dice = new Dice(seed).fork();
  const calls = Array.from({ length: 200 }, () => {
    const innocent = dice.pickWeighted(INNOCENTS);
    return [innocent.tool.name, innocent.draw(dice, 100)];
  });
  return JSON.stringify(calls);
}

test("the same seed draws the same calls, another one draws others", () => {
  expect(draw(1)).toBe(draw(1));
  expect(draw(2)).not.toBe(draw(1));
});

test("items are picked as often as their weights say", () => {
  const dice = new Dice(3);
  const items = [{ weight: 1 }, { weight: 3 }] as const;
  const picks = Array.from({ length: 10_000 }, () => dice.pickWeighted(items).weight);
  expect(picks.filter((weight) => weight === 3).length / 10_000).toBeCloseTo(0.75, 1);
});

test("whole numbers lie between both ends, which are drawn as well", () => {
  const dice = new Dice(4);
  expect(new Set(Array.from({ length: 200 }, () => dice.between(2, 5)))).toEqual(new Set([2, 3, 4, 5]));
});

test("a seed is what was asked for, or any, and nothing else", () => {
  expect(seedOf("17")).toBe(17);
  expect(seedOf(undefined)).toBeGreaterThanOrEqual(0);
  expect(() => seedOf("x")).toThrow(RangeError);
});

test("there are twenty innocent tools, each with a name of its own", () => {
  expect(new Set(INNOCENTS.map(({ tool }) => tool.name)).size).toBe(20);
});
