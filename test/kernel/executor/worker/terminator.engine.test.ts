import ivm from "isolated-vm";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CELL, LAST_BEAT, turnRecordBuffer, TurnSlot } from "../../../../src/kernel/base/protocol/turn-record.ts";
import { Terminator } from "../../../../src/kernel/executor/worker/terminator.ts";

let slot: TurnSlot;
let terminator: Terminator;
beforeEach(() => {
  slot = new TurnSlot(turnRecordBuffer(1), 0, undefined);
  terminator = new Terminator(slot.cells);
});
afterEach(() => terminator[Symbol.asyncDispose]());

function condemn(turn: number): void {
  Atomics.store(slot.cells, CELL.condemned, turn);
  Atomics.add(slot.cells, CELL.bell, 1);
  Atomics.notify(slot.cells, CELL.bell);
}

test("a condemned turn's isolate is disposed of, and no other", async () => {
  const [ours, other] = [new ivm.Isolate(), new ivm.Isolate()];
  const number = terminator.keep(ours);
  terminator.keep(other);
  const turn = slot.begin(1, 100, performance.now(), number);
  condemn(turn);
  await expect.poll(() => ours.isDisposed).toBe(true);
  expect(Atomics.load(slot.cells, CELL.ended)).toBe(turn);
  expect([terminator.hasEnded(number), terminator.hasEnded(number + 1)]).toEqual([true, false]);
  expect(other.isDisposed).toBe(false);
  other.dispose();
});

test("a turn that is over when it is condemned costs the next turn nothing", async () => {
  using isolate = disposable();
  const number = terminator.keep(isolate.isolate);
  const turn = slot.begin(1, 100, performance.now(), number);
  slot.end();
  slot.begin(2, 100, performance.now(), number);
  condemn(turn);
  await expect.poll(() => Atomics.load(slot.cells, CELL.condemned)).toBe(0);
  await sleep(50);
  expect(isolate.isolate.isDisposed).toBe(false);
});

test("any number of isolates may be kept in a row, and the last one's turns can be ended", async () => {
  let last = new ivm.Isolate();
  let number = terminator.keep(last);
  for (let kept = 0; kept < 300; kept++) {
    last.dispose();
    last = new ivm.Isolate();
    number = terminator.keep(last);
  }
  condemn(slot.begin(1, 100, performance.now(), number));
  await expect.poll(() => last.isDisposed).toBe(true);
});

test("after the watch's last beat every turn is ended", async () => {
  const isolate = new ivm.Isolate();
  slot.begin(1, 100, performance.now(), terminator.keep(isolate));
  Atomics.store(slot.cells, CELL.beat, LAST_BEAT);
  condemn(0);
  await expect.poll(() => isolate.isDisposed).toBe(true);
});

function disposable() {
  const isolate = new ivm.Isolate();
  return { isolate, [Symbol.dispose]: () => isolate.dispose() };
}
