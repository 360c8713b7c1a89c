import { expect, test } from "vitest";
import { Journal } from "../../../src/kernel/broker/journal.ts";
import type { CapabilityResponse } from "../../../src/kernel/executor/executor.ts";

const never = new Promise<CapabilityResponse>(() => undefined);

function entry(step: number, heard?: number) {
  const asked = { step, capability: "a", method: "b", args: "null", response: never };
  return heard === undefined ? asked : { ...asked, deliveredCount: heard };
}

function value(nowMs: number): CapabilityResponse {
  return { kind: "value", nowMs, json: "1" };
}

test("nothing is planned for a call that did not ask", () => {
  expect(new Journal().plan()).toBe("");
});

test("a timer that fired late is planned, also where the call did not ask", () => {
  const journal = new Journal();
  journal.recordLate(3, 500);
  expect(JSON.parse(journal.plan())).toEqual({ asked: 0, responses: [], late: [[3, 500]], together: [] });
});

test("a call that is recorded has no other late timers than those in its plan", () => {
  expect(JSON.parse(new Journal(true).plan())).toEqual({ asked: null, responses: [], late: [], together: [] });
});

test("an answer that was on its way when the call asked comes after that, when the call is run again", () => {
  const journal = new Journal();
  for (const step of [1, 2]) journal.append(entry(step, 0));
  journal.recordResponse(1, value(10));
  journal.recordResponse(2, value(20));
  journal.append(entry(3, 1));
  expect(JSON.parse(journal.plan())).toMatchObject({
    asked: 3,
    responses: [
      [2, 10],
      [3, 20],
    ],
  });
});

/** A journal with so many answers. */
function answered(count: number): Journal {
  const journal = new Journal();
  for (let step = 1; step <= count; step++) journal.append(entry(step, 0));
  for (let step = 1; step <= count; step++) journal.recordResponse(step, value(step));
  return journal;
}

test("answers that the call had in one turn are planned for one turn", () => {
  const journal = answered(5);
  journal.recordTogether(0, 2);
  journal.recordTogether(3, 2);
  expect(JSON.parse(journal.plan())).toMatchObject({
    together: [
      [0, 2],
      [3, 2],
    ],
  });
});

test.each([
  ["is not there", 4, 2],
  ["shared a turn before", 1, 2],
  ["is one alone", 3, 1],
  ["is before the first", -1, 2],
  ["is no index", 2.5, 2],
  ["is too far away to be counted", 2 ** 60, 2 ** 60],
])("a worker cannot have an answer share a turn that %s", (_what, at, count) => {
  const journal = answered(5);
  journal.recordTogether(0, 2);
  journal.recordTogether(at, count);
  expect(journal.together).toEqual([[0, 2]]);
});

test("a turn with an answer that the call had not heard when it ended was none", () => {
  const journal = answered(4);
  journal.recordTogether(0, 2);
  journal.recordTogether(2, 2);
  journal.endAfter(3);
  expect(journal.together).toEqual([[0, 2]]);
});

test("an ask of which nobody knows what the call had heard leaves the answers as they came", () => {
  const journal = new Journal();
  journal.append(entry(1));
  journal.recordResponse(1, value(10));
  journal.append(entry(2));
  expect(JSON.parse(journal.plan())).toMatchObject({ asked: 2, responses: [[1, 10]] });
});

test.each([-1e308, -1, 0.5, 1e308])("a worker that has heard %d answers does no harm", (heard) => {
  const journal = new Journal();
  journal.append(entry(1));
  journal.recordResponse(1, value(10));
  journal.append(entry(2, heard));
  journal.endAfter(heard);
  expect(journal.responses.length).toBeLessThanOrEqual(1);
});

test("a journal that begins later finds its calls by their steps", () => {
  const journal = new Journal();
  for (const step of [5, 6]) journal.append(entry(step));
  expect([4, 5, 6, 7].map((step) => journal.find(step)?.step)).toEqual([undefined, 5, 6, undefined]);
});

test("what the call had not heard when it ended was no answer", () => {
  const journal = new Journal();
  for (const step of [1, 2]) journal.append(entry(step));
  for (const step of [1, 2]) journal.recordResponse(step, value(step));
  journal.endAfter(1);
  expect(journal.responses.map(({ step }) => step)).toEqual([1]);
});

test("a journal of many capability calls at once takes time in proportion to their number", () => {
  const journal = new Journal();
  const startMs = performance.now();
  for (let step = 1; step <= 100_000; step++) {
    journal.append(entry(step, 0));
    journal.recordResponse(step, { kind: "value", nowMs: 1, json: "1" });
    journal.recordTime(step, 2);
  }
  expect(journal.responseAt(0)).toMatchObject({ step: 1, asked: 100_000, response: { nowMs: 2 } });
  // Comparing each with all others takes minutes.
  expect(performance.now() - startMs).toBeLessThan(30_000);
});
