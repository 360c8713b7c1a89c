import { expect, test } from "vitest";
import { measureResumption, measureWaiting, renderFigures } from "../../bench/calls/durable.ts";

/* The benchmark of calls that wait, for a moment. Its times depend on the machine; what calls hold does not. */

test("calls that wait hold no run, no isolate and no timer, and few bytes on disk", async () => {
  const calls = 60;
  const figures = await measureWaiting(calls, false, "threads");
  const exact = ["calls that run", "isolates at work", "on disk for each"];
  for (const { name, value, most } of figures) {
    expect(value, name).toSatisfy(Number.isFinite);
    if (exact.includes(name)) expect(value, name).toBeLessThanOrEqual(most ?? 0);
  }
  expect(figures.map(({ name }) => name)).toEqual(expect.arrayContaining(exact));
  // The engine has timers of its own.
  expect(figures.find(({ name }) => name === "more timers")?.value).toBeLessThan(calls / 4);
});

test("a call that goes on ends as it has to, and its time is told beside the bound", async () => {
  const figures = await measureResumption(100, 0, 2, "threads");
  expect(renderFigures(figures)).toMatch(/100 steps, median +[\d.]+ ms +0\.00 ms +missed/);
});
