import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  isPressed,
  onPressure,
  type Pressure,
  relief,
  watchPressure,
} from "../../../../src/kernel/base/os/pressure.ts";

let root: string;

beforeEach(() => {
  vi.useFakeTimers();
  root = mkdtempSync(path.join(tmpdir(), "glovebox-pressure-"));
  mkdirSync(path.join(root, "proc/pressure"), { recursive: true });
});

afterEach(() => {
  vi.useRealTimers();
  rmSync(root, { recursive: true });
});

function set(resource: string, percent: string): void {
  const text = `some avg10=${percent} avg60=99.00 avg300=99.00 total=1\nfull avg10=99.00 avg60=0.00 avg300=0.00 total=0\n`;
  writeFileSync(path.join(root, "proc/pressure", resource), text);
}

test("pressure begins above its bound and ends well below it", () => {
  set("cpu", "10.00");
  set("memory", "0.00");
  using _watch = watchPressure(root);
  const told: Pressure[] = [];
  using _listener = onPressure((pressure) => told.push(pressure));
  for (const percent of ["80.00", "80.01", "61.00", "60.00", "59.99", "79.00"]) {
    set("cpu", percent);
    vi.advanceTimersByTime(2_000);
    expect(isPressed("cpu"), percent).toBe(["80.01", "61.00", "60.00"].includes(percent));
  }
  for (const percent of ["20.00", "21.50", "10.00", "9.99"]) {
    set("memory", percent);
    vi.advanceTimersByTime(2_000);
    expect(isPressed("memory"), percent).toBe(["21.50", "10.00"].includes(percent));
  }
  expect(told).toEqual([
    { resource: "cpu", isHigh: true, percent: 80.01 },
    { resource: "cpu", isHigh: false, percent: 59.99 },
    { resource: "memory", isHigh: true, percent: 21.5 },
    { resource: "memory", isHigh: false, percent: 9.99 },
  ]);
});

test("a machine that tells no pressure has no timer", () => {
  using _watch = watchPressure(root);
  expect(vi.getTimerCount()).toBe(0);
  expect(isPressed("cpu")).toBe(false);
});

test("nothing is high any more when nobody watches", () => {
  set("cpu", "99.00");
  const watch = watchPressure(root);
  expect(isPressed("cpu")).toBe(true);
  watch[Symbol.dispose]();
  expect(isPressed("cpu")).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

test("one watch has one timer, whoever starts it again", () => {
  set("memory", "0.00");
  using _first = watchPressure(root);
  using _second = watchPressure(root);
  expect(vi.getTimerCount()).toBe(1);
});

test("whoever waits for relief waits until pressure ends, or for its time", async () => {
  set("cpu", "95.00");
  set("memory", "0.00");
  using _watch = watchPressure(root);
  const done: string[] = [];
  void relief("cpu", 10_000).then(() => done.push("long"));
  void relief("cpu", 3_000).then(() => done.push("short"));
  await vi.advanceTimersByTimeAsync(2_900);
  expect(done).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect(done).toEqual(["short"]);
  set("cpu", "5.00");
  await vi.advanceTimersByTimeAsync(2_000);
  expect(done).toEqual(["short", "long"]);
});
