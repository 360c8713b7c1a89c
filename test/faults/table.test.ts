import { expect, test } from "vitest";
import { faultOutcomes } from "./outcomes.ts";
import { FAULTS } from "./table.ts";

/** As many as the table is to have at the least. */
const LEAST = 30;

test("each fault has a name of its own, and was measured: its row is in the page", () => {
  const names = FAULTS.map(({ name }) => name);
  expect(names.length).toBeGreaterThanOrEqual(LEAST);
  expect(names).toEqual([...new Set(names)]);
  const measured = faultOutcomes.read().map(({ name, place }) => `${place} ${name}`);
  expect(measured.toSorted()).toEqual(FAULTS.map(({ name, place }) => `${place} ${name}`).toSorted());
});

test("no call was lost, and no effect happened twice", () => {
  expect(faultOutcomes.read().filter(({ lost, twice }) => lost + twice > 0)).toEqual([]);
});
