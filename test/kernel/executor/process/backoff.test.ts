import { expect, test } from "vitest";
import { Backoff } from "../../../../src/kernel/executor/process/backoff.ts";
import { recycleReason } from "../../../../src/kernel/executor/process/process-supervisor.ts";

function backoff() {
  let nowMs = 0;
  return { backoff: new Backoff(() => nowMs), pass: (ms: number) => (nowMs += ms) };
}

test("a process that is lost now and then is replaced at once", () => {
  const { backoff: each, pass } = backoff();
  for (let loss = 0; loss < 100; loss++) {
    expect(each.lost(true)).toBe(0);
    pass(1_001);
  }
});

test("in a storm of losses the next process waits, longer and longer, and never more than a second", () => {
  const { backoff: each } = backoff();
  const delays = Array.from({ length: 20 }, () => each.lost(true));
  expect(delays.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 0));
  expect(delays.slice(10)).toEqual([50, 100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000, 1_000]);
});

test("when a storm is over a process is replaced at once again", () => {
  const { backoff: each, pass } = backoff();
  for (let loss = 0; loss < 100; loss++) each.lost(true);
  pass(10_001);
  expect(each.lost(true)).toBe(0);
});

test("processes that do not even start wait from the first one on, until one does", () => {
  const { backoff: each } = backoff();
  expect(Array.from({ length: 10 }, () => each.lost(false))).toEqual([
    50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000,
  ]);
  each.started();
  expect(each.lost(false)).toBe(50);
});

const RECYCLING = { ageMs: 100_000, calls: 1_000, rssMb: 100 };
const MIB = 1024 * 1024;

test.each([
  ["nothing while it is young and small", { ageMs: 99_999, calls: 999, rssBytes: 99 * MIB }, null],
  [
    "memory that no isolate accounts for",
    { ageMs: 5_000, calls: 1, rssBytes: 99 * MIB, knownBytes: -157 * MIB },
    "heap",
  ],
  ["age", { ageMs: 100_000, calls: 1, rssBytes: MIB }, "age"],
  ["calls", { ageMs: 1, calls: 1_000, rssBytes: MIB }, "calls"],
  ["heap", { ageMs: 60_000, calls: 1, rssBytes: 100 * MIB }, "heap"],
  ["nothing for a heap that was as large from the start", { ageMs: 59_999, calls: 1, rssBytes: 500 * MIB }, null],
] as const)("a process makes room for %s", (_, service, reason) => {
  expect(recycleReason(RECYCLING, { knownBytes: service.rssBytes, ...service })).toBe(reason);
});
