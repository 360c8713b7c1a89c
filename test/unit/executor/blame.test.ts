import { expect, test } from "vitest";
import { type Death, judge } from "../../../src/executor/process/blame.ts";
import { Quarantine } from "../../../src/executor/process/quarantine.ts";

const turn = (run: number) => ({ run, startMs: 1, budgetMs: 100 });

function death(more: Partial<Death>): Death {
  return { report: null, killedFor: null, signal: "SIGABRT", exitCode: null, turns: [], stderr: "", ...more };
}

test("an overrun is the reported call's, whatever else ran", () => {
  const verdict = judge(death({ report: { kind: "overrun", run: 4, elapsedMs: 400 }, turns: [turn(4), turn(5)] }));
  expect(verdict).toMatchObject({
    reason: "overrun",
    culprit: { run: 4, failure: { code: "cpu_limit" } },
    suspects: [],
  });
});

test("too much memory is the call's that was in its turn alone", () => {
  const verdict = judge(death({ report: { kind: "memory", runs: [4], rssMb: 900 } }));
  expect(verdict).toMatchObject({ reason: "memory", culprit: { run: 4, failure: { code: "memory_limit" } } });
});

test("too much memory in two turns at once makes suspects, not a culprit", () => {
  const verdict = judge(death({ report: { kind: "memory", runs: [4, 5], rssMb: 900 } }));
  expect(verdict).toMatchObject({ culprit: null, suspects: [4, 5] });
});

test("a crash is the call's whose turn it was", () => {
  const verdict = judge(death({ turns: [null, turn(9)] }));
  expect(verdict).toMatchObject({ reason: "crash", culprit: { run: 9, failure: { code: "executor_crashed" } } });
});

test("a turn in which calls went together makes suspects of them", () => {
  const report = { kind: "overrun", run: -4, elapsedMs: 400 } as const;
  expect(judge(death({ report }))).toEqual({ reason: "overrun", culprit: null, suspects: [-4] });
  expect(judge(death({ turns: [turn(-4)] }))).toEqual({ reason: "crash", culprit: null, suspects: [-4] });
});

test("a crash for want of memory is told as such", () => {
  const verdict = judge(death({ turns: [turn(9)], stderr: "FATAL ERROR: JavaScript heap out of memory" }));
  expect(verdict.culprit?.failure.code).toBe("memory_limit");
});

test("a crash outside every turn is nobody's", () => {
  expect(judge(death({ turns: [null] }))).toMatchObject({ reason: "crash", culprit: null, suspects: [] });
});

test.each(["SIGKILL", "SIGTERM"] as const)("a %s from outside is nobody's, even in the middle of a turn", (signal) => {
  expect(judge(death({ signal, turns: [turn(9)] }))).toEqual({ reason: "killed", culprit: null, suspects: [] });
});

test("a process that was killed because it was silent blames nobody", () => {
  expect(judge(death({ killedFor: "heartbeat", signal: "SIGKILL", turns: [turn(9)] }))).toMatchObject({
    reason: "heartbeat",
    culprit: null,
  });
});

test("the quarantine refuses a tool after three strikes, and lets it try again later", () => {
  let nowMs = 0;
  const quarantine = new Quarantine(() => nowMs);
  expect(quarantine.holds("tool")).toBe(false);
  quarantine.strike("tool");
  expect(quarantine.holds("tool")).toBe(true);
  expect(quarantine.refusedForMs("tool")).toBe(0);
  quarantine.strike("tool");
  quarantine.strike("tool");
  expect(quarantine.refusedForMs("tool")).toBeGreaterThan(0);
  nowMs += 30_001;
  expect(quarantine.refusedForMs("tool")).toBe(0);
  quarantine.strike("tool");
  expect(quarantine.refusedForMs("tool")).toBeGreaterThan(0);
});

test("the quarantine forgets strikes that lie too far back", () => {
  let nowMs = 0;
  const quarantine = new Quarantine(() => nowMs);
  for (let strike = 0; strike < 10; strike++) {
    expect(quarantine.strike("tool")).toBe(1);
    nowMs += 60_001;
  }
});

test("the quarantine lets a tool go after enough clean calls", () => {
  const quarantine = new Quarantine(() => 0);
  quarantine.strike("tool");
  for (let call = 0; call < 20; call++) quarantine.clean("tool");
  expect(quarantine.holds("tool")).toBe(false);
});
