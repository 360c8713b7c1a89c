import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  monotonicMs,
  readMirror,
  readReservedMb,
  readTurns,
  turnRecordBuffer,
  TurnSlot,
} from "../../../../src/kernel/base/protocol/turn-record.ts";

test("a turn record shows whose turn it is on which worker, and for how long", () => {
  const buffer = turnRecordBuffer(2);
  const slot = new TurnSlot(buffer, 1, undefined);
  const beforeMs = monotonicMs();
  slot.begin(7, 250, performance.now());
  const [first, second] = readTurns(buffer);
  expect(first).toBeNull();
  expect(second).toMatchObject({ callNumber: 7, budgetMs: 250 });
  expect(second?.startMs).toBeGreaterThan(beforeMs - 50);
  slot.end();
  expect(readTurns(buffer)).toEqual([null, null]);
});

test("a turn record sums up what the isolates of all workers may use", () => {
  const buffer = turnRecordBuffer(2);
  new TurnSlot(buffer, 0, undefined).reserve(64);
  new TurnSlot(buffer, 1, undefined).reserve(128);
  expect(readReservedMb(buffer)).toBe(192);
});

test("a turn record is mirrored into a file that outlives the memory", () => {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-test-"));
  const fd = openSync(join(folder, "turns"), "wx+");
  try {
    const slots = [0, 1].map((worker) => new TurnSlot(turnRecordBuffer(2), worker, fd));
    slots[0]?.begin(1, 10, performance.now());
    slots[1]?.begin(2, 20, performance.now());
    slots[0]?.end();
    slots[0]?.rest();
    expect(readMirror(fd, 2)).toEqual([null, expect.objectContaining({ callNumber: 2, budgetMs: 20 })]);
  } finally {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  }
});
