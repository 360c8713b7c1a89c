import { expect, onTestFinished, test, vi } from "vitest";
import { Events } from "../../../../src/kernel/engine/telemetry/events.ts";
import { logEvents } from "../../../../src/kernel/engine/telemetry/log.ts";

const FAILED = { outcome: "failed", count: 1, target: "hooks.example.com", reason: "it answered 500" } as const;

test("a notification that is not taken is a line, and of many only some are", () => {
  const events = new Events();
  const lines: object[] = [];
  logEvents(events, { info: () => undefined, warn: (fields, text) => void lines.push({ ...fields, text }) });
  for (let time = 0; time < 100; time++) events.emit("call:notify", FAILED);
  const text = "a target did not take a notification; it is tried again, for a day";
  expect(lines[0]).toEqual({ ...FAILED, text });
  expect(lines.length).toBeLessThanOrEqual(10);
});

test("a flood of one line is written in part, and the next one of its kind says how many were left out", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const events = new Events();
  const lines: object[] = [];
  logEvents(events, { info: () => undefined, warn: (fields) => void lines.push(fields) });
  for (let time = 0; time < 1_000; time++) events.emit("fleet:damage", { why: "torn" });
  expect(lines.length).toBe(100);
  vi.advanceTimersByTime(10_000);
  events.emit("fleet:damage", { why: "torn" });
  expect(lines.at(-1)).toEqual({ why: "torn", unsaid: 900 });
});
