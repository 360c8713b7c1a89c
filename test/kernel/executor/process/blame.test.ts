import { expect, test } from "vitest";
import { type Death, judge } from "../../../../src/kernel/executor/process/blame.ts";

const turn = (callNumber: number) => ({ callNumber, startMs: 1, budgetMs: 100 });

function death(more: Partial<Death>): Death {
  return {
    report: null,
    startError: null,
    killedFor: null,
    isMemory: false,
    signal: "SIGABRT",
    exitCode: null,
    turns: [],
    stderr: "",
    ...more,
  };
}

/** Calls may have 64 MiB here, and others run in the same process. */
function blame(more: Partial<Death>) {
  return judge(death(more), false, () => 64);
}

test("an overrun is the reported call's, whatever else ran", () => {
  const verdict = blame({ report: { kind: "overrun", callNumber: 4, cpuMs: 400 }, turns: [turn(4), turn(5)] });
  expect(verdict).toMatchObject({
    reason: "overrun",
    culprit: { callNumber: 4, failure: { code: "cpu_limit" } },
    suspects: [],
  });
});

test("too much memory is the call's that has taken more than it may since its turn began", () => {
  const turns = [
    { callNumber: 4, grownMb: 65 },
    { callNumber: 5, grownMb: 64 },
  ];
  const verdict = blame({ report: { kind: "memory", turns, rssMb: 900 } });
  expect(verdict).toMatchObject({ reason: "memory", culprit: { callNumber: 4, failure: { code: "memory_limit" } } });
});

test.each([
  ["none", 64, 64],
  ["two", 65, 65],
])("too much memory when %s of the turns took more than its call may makes suspects of all", (_, first, second) => {
  const turns = [
    { callNumber: 4, grownMb: first },
    { callNumber: 5, grownMb: second },
  ];
  const verdict = blame({ report: { kind: "memory", turns, rssMb: 900 } });
  expect(verdict).toMatchObject({ reason: "memory", culprit: null, suspects: [4, 5] });
});

test("the kernel's end of a process for its memory is the call's that had the only turn", () => {
  const killed = { isMemory: true, signal: "SIGKILL" as const };
  expect(blame({ ...killed, turns: [null, turn(7)] })).toMatchObject({
    reason: "memory",
    culprit: { callNumber: 7, failure: { code: "memory_limit" } },
    killed: [],
  });
  const several = blame({ ...killed, turns: [turn(7), turn(8)] });
  expect(several).toMatchObject({ reason: "memory", culprit: null, suspects: [7, 8], killed: [] });
  expect(blame({ ...killed, turns: [] })).toMatchObject({ reason: "memory", culprit: null, suspects: [] });
});

test("a call in whose turn the memory hardly grew is not suspect", () => {
  const turns = [
    { callNumber: 4, grownMb: 15 },
    { callNumber: 5, grownMb: 60 },
  ];
  expect(blame({ report: { kind: "memory", turns, rssMb: 900 } })).toMatchObject({ culprit: null, suspects: [5] });
});

test("too much memory in quarantine is the call's whose turn it is, however slowly it took it", () => {
  const report = { kind: "memory", turns: [{ callNumber: 4, grownMb: 1 }], rssMb: 900 } as const;
  expect(judge(death({ report }), true, () => 64)).toMatchObject({ culprit: { callNumber: 4 } });
});

test("a crash is the call's whose turn it was", () => {
  const verdict = blame({ turns: [null, turn(9)] });
  expect(verdict).toMatchObject({ reason: "crash", culprit: { callNumber: 9, failure: { code: "executor_crashed" } } });
});

test("a turn in which calls went together makes suspects of them", () => {
  const report = { kind: "overrun", callNumber: -4, cpuMs: 400 } as const;
  expect(blame({ report })).toEqual({ reason: "overrun", culprit: null, suspects: [-4], killed: [] });
  expect(blame({ turns: [turn(-4)] })).toEqual({ reason: "crash", culprit: null, suspects: [-4], killed: [] });
});

test.each([
  "FATAL ERROR: JavaScript heap out of memory",
  "FATAL ERROR: invalid table size Allocation failed - JavaScript heap out of memory",
  // The regression: a text that splits into 250 million parts, faster than the watch of memory sees it.
  "#\n# Fatal error with no security impact:\n# Fatal JavaScript invalid size error 250000001\n#",
])("a crash for want of memory is told as such: %j", (stderr) => {
  const verdict = blame({ turns: [turn(9)], stderr });
  expect(verdict.culprit?.failure.code).toBe("memory_limit");
});

test("a crash outside every turn is nobody's", () => {
  expect(blame({ turns: [null] })).toMatchObject({ reason: "crash", culprit: null, suspects: [] });
});

test.each(["SIGKILL", "SIGTERM"] as const)("a %s from outside is nobody's, but says whose turn it was", (signal) => {
  expect(blame({ signal, turns: [turn(9)] })).toEqual({ reason: "killed", culprit: null, suspects: [], killed: [9] });
});

test("a process that was killed because it was silent blames nobody", () => {
  expect(blame({ killedFor: "heartbeat", signal: "SIGKILL", turns: [turn(9)] })).toMatchObject({
    reason: "heartbeat",
    culprit: null,
  });
});

test("a thread that ended by itself leaves the turns of the others alone", () => {
  const report = { kind: "worker-lost", worker: 1 } as const;
  const turns = [turn(4), turn(5)];
  expect(blame({ report, turns })).toMatchObject({ reason: "crash", culprit: { callNumber: 5 }, suspects: [] });
  expect(blame({ report, turns: [turn(4), null] })).toMatchObject({ culprit: null, suspects: [] });
});
