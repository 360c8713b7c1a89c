import { expect, test } from "vitest";
import { holdingsBuffer, readHoldings, WorkerHoldings } from "../../../src/kernel/base/protocol/holdings.ts";
import { turnRecordBuffer } from "../../../src/kernel/base/protocol/turn-record.ts";
import { MemoryWatch } from "../../../src/kernel/executor/memory-watch.ts";

const MIB = 1024 * 1024;

/** A watch of a process with 300 MiB at most, whose memory is what the test says. */
function watched() {
  const holdings = holdingsBuffer(2);
  const workers = [new WorkerHoldings(holdings, 0), new WorkerHoldings(holdings, 1)] as const;
  const shed: string[] = [];
  const reports: number[] = [];
  let rssMb = 100;
  const watch = new MemoryWatch({
    record: turnRecordBuffer(2),
    holdings,
    rssMaxMb: 300,
    shed: (worker, isolate) => shed.push(`${worker}:${isolate}`),
    report: (_turns, usedMb) => reports.push(usedMb),
    rssMb: () => rssMb,
  });
  const look = (usedMb: number, nowMs: number): void => {
    rssMb = usedMb;
    watch.look([], nowMs);
  };
  const hold = (worker: 0 | 1, isolate: number, tenant: number, mb: number, calls = 0) => {
    const held = workers[worker].open(isolate, tenant);
    held.bytes = mb * MIB;
    held.calls = calls;
    return held;
  };
  return { watch, look, hold, shed, reports, holdings };
}

test("below the ceiling nothing is shed", () => {
  const { look, hold, shed, reports } = watched();
  hold(0, 1, 7, 60);
  look(300, 0);
  expect([shed, reports]).toEqual([[], []]);
});

test("above it, the tenant whose isolates hold most together gives back its largest", () => {
  const { look, hold, shed } = watched();
  hold(0, 1, 7, 60);
  hold(0, 2, 8, 40);
  hold(1, 1, 8, 45);
  look(301, 0);
  expect(shed).toEqual(["1:1"]);
});

test("an isolate without calls goes before a larger one with calls", () => {
  const { look, hold, shed } = watched();
  hold(0, 1, 7, 60, 1);
  const idle = hold(0, 2, 7, 20);
  look(301, 0);
  expect(shed).toEqual(["0:2"]);
  expect(idle.isShed).toBe(true);
});

test("the next one goes only after the first had time to be given back", () => {
  const { look, hold, shed } = watched();
  hold(0, 1, 7, 60);
  hold(0, 2, 7, 50);
  for (const nowMs of [0, 10, 90]) look(301, nowMs);
  expect(shed).toEqual(["0:1"]);
  look(301, 110);
  expect(shed).toEqual(["0:1", "0:2"]);
});

test("memory that shedding does not bring down in two seconds is reported", () => {
  const { look, hold, shed, reports } = watched();
  hold(0, 1, 7, 60);
  for (let nowMs = 0; nowMs <= 2_000; nowMs += 10) look(320, nowMs);
  expect([shed, reports]).toEqual([["0:1"], []]);
  look(320, 2_010);
  expect(reports).toEqual([320]);
});

test("memory that is far too much is reported at once", () => {
  const { look, hold, shed, reports } = watched();
  hold(0, 1, 7, 60);
  look(451, 0);
  expect([shed, reports]).toEqual([[], [451]]);
});

test("more isolates than the table has entries are used, and not shed", () => {
  const { hold, holdings } = watched();
  const held = Array.from({ length: 100 }, (_, n) => hold(0, n + 1, 7, 10));
  expect(readHoldings(holdings)).toHaveLength(64);
  expect(held.some(({ isShed }) => isShed)).toBe(false);
  for (const each of held) each[Symbol.dispose]();
  expect(readHoldings(holdings)).toEqual([]);
});

test("for a machine that is short of memory, each worker gives back its largest idle isolate, below the ceiling too", () => {
  const { watch, hold, shed, reports } = watched();
  hold(0, 1, 7, 60, 1);
  hold(0, 2, 7, 2);
  hold(0, 3, 8, 3);
  hold(1, 1, 8, 1);
  watch.shedIdle();
  expect(shed).toEqual(["0:3", "1:1"]);
  watch.shedIdle();
  watch.shedIdle();
  expect(shed).toEqual(["0:3", "1:1", "0:2"]);
  expect(reports).toEqual([]);
});
