import { describe, expect, test } from "vitest";
import { ChildBudget, type ChildPlace } from "../../../../src/kernel/engine/call/child-budget.ts";

/** The place that a child call gets at once; `null` where it has to wait. */
function placeNow(budget: ChildBudget, isLight: boolean): ChildPlace | null {
  const place = budget.place(isLight);
  return place instanceof Promise ? null : place;
}

function places(budget: ChildBudget, count: number, isLight: boolean): readonly (ChildPlace | null)[] {
  return Array.from({ length: count }, () => placeNow(budget, isLight));
}

describe("the places of a call's child calls", () => {
  test("are 8, and a ninth call waits for one of them", async () => {
    const budget = new ChildBudget(1_000, null);
    expect(places(budget, 8, false)).toEqual(Array.from({ length: 8 }, () => "own"));
    const ninth = budget.place(false);
    expect(ninth).toBeInstanceOf(Promise);
    budget.leave("own");
    expect(await ninth).toBe("own");
  });

  test("are 56 more for light calls", () => {
    const budget = new ChildBudget(1_000, null);
    const given = places(budget, 70, true);
    expect(given.filter((place) => place === "own")).toHaveLength(8);
    expect(given.filter((place) => place === "light")).toHaveLength(56);
    expect(given.slice(64)).toEqual([null, null, null, null, null, null]);
  });

  test("are given to heavy calls first, in the order in which they came", async () => {
    const budget = new ChildBudget(1_000, null);
    places(budget, 64, true);
    const order: string[] = [];
    const wait = async (name: string, isLight: boolean) => {
      order.push(`${name} ${await budget.place(isLight)}`);
    };
    const waiting = [wait("light", true), wait("heavy", false), wait("heavier", false)];
    budget.leave("own");
    budget.leave("own");
    budget.leave("light");
    await Promise.all(waiting);
    expect(order).toEqual(["heavy own", "heavier own", "light light"]);
  });

  test("are shared with all descendants of the topmost call, as far as they are for light calls", () => {
    const root = new ChildBudget(1_000, null);
    places(root, 64, true);
    const child = new ChildBudget(1_000, root);
    expect(places(child, 9, true)).toEqual([...Array.from({ length: 8 }, () => "own"), null]);
    root.leave("light");
    expect(placeNow(child, true)).toBe("light");
  });

  test("of light calls are no part of the 64 calls that may be alive", () => {
    const budget = new ChildBudget(1_000, null);
    for (const place of places(budget, 64, true)) if (place !== null) expect(budget.enter(place)).toBe(true);
    expect(Array.from({ length: 57 }, () => budget.enter("own")).filter(Boolean)).toHaveLength(56);
  });
});
