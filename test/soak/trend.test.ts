import { expect, test } from "vitest";
import { Dice } from "../load/dice.ts";
import { fitTrend, type Point } from "./trend.ts";

const ALLOWED = { absolute: 4, share: 0.05 };

/** Forty points over a million calls. */
function series(valueAt: (calls: number) => number): Point[] {
  return Array.from({ length: 40 }, (_, at) => ({ calls: at * 25_000, value: valueAt(at * 25_000) }));
}

function noise(size: number): () => number {
  const dice = new Dice(5);
  return () => (dice.next() - 0.5) * size;
}

test("a line's slope, mean and ends are its own, without error", () => {
  expect(
    fitTrend(
      series((calls) => 10 + calls / 50_000),
      ALLOWED,
    ),
  ).toEqual({
    first: 10,
    last: 29.5,
    mean: 19.75,
    slopePer100k: expect.closeTo(2, 9),
    errorPer100k: expect.closeTo(0, 9),
    verdict: "grows",
  });
});

test("the slope is that of least squares", () => {
  const points = [1, 3, 2, 5, 4].map((value, at) => ({ calls: at * 100_000, value }));
  const { slopePer100k, errorPer100k } = fitTrend(points, ALLOWED);
  expect(slopePer100k).toBeCloseTo(0.8, 9);
  expect(errorPer100k).toBeCloseTo(Math.sqrt(3.6 / 3 / 10), 9);
});

test("what never changes is flat", () => {
  expect(
    fitTrend(
      series(() => 7),
      { absolute: 0, share: 0 },
    ),
  ).toMatchObject({ slopePer100k: 0, verdict: "flat" });
});

test("what scatters around a level is flat", () => {
  const scatter = noise(30);
  expect(
    fitTrend(
      series(() => 100 + scatter()),
      ALLOWED,
    ).verdict,
  ).toBe("flat");
});

test("a leak shows through the scatter", () => {
  const scatter = noise(30);
  expect(
    fitTrend(
      series((calls) => 100 + calls / 25_000 + scatter()),
      ALLOWED,
    ).verdict,
  ).toBe("grows");
});

test("a rise that is smaller than what is allowed is flat, be it ever so steady", () => {
  expect(
    fitTrend(
      series((calls) => 100 + calls / 500_000),
      ALLOWED,
    ).verdict,
  ).toBe("flat");
});

test("what is allowed grows with the mean", () => {
  expect(
    fitTrend(
      series((calls) => 1_000 + calls / 25_000),
      ALLOWED,
    ).verdict,
  ).toBe("flat");
  expect(
    fitTrend(
      series((calls) => 100 + calls / 25_000),
      ALLOWED,
    ).verdict,
  ).toBe("grows");
});

test("a count that rises by one and stays there grows", () => {
  expect(
    fitTrend(
      series((calls) => (calls < 500_000 ? 12 : 13)),
      { absolute: 0.5, share: 0 },
    ).verdict,
  ).toBe("grows");
});

test("a count that is higher once is flat", () => {
  expect(
    fitTrend(
      series((calls) => (calls === 500_000 ? 13 : 12)),
      { absolute: 0.5, share: 0 },
    ).verdict,
  ).toBe("flat");
});

test("a rise that the scatter may explain is unclear", () => {
  const points = [10, 90, 20, 80, 95].map((value, at) => ({ calls: at, value }));
  expect(fitTrend(points, ALLOWED).verdict).toBe("unclear");
});

test("what falls is flat", () => {
  expect(
    fitTrend(
      series((calls) => 100 - calls / 25_000),
      ALLOWED,
    ).verdict,
  ).toBe("flat");
});

test("too few points, and points of one place, are no trend", () => {
  expect(() => fitTrend(series(() => 1).slice(0, 4), ALLOWED)).toThrow("at least 5 points");
  const place = series(() => 1).map(({ value }) => ({ calls: 5, value }));
  expect(() => fitTrend(place, ALLOWED)).toThrow("equally many calls");
});
