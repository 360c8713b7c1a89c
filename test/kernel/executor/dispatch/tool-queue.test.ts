import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { DEFAULT_LIMITS, type Limits } from "../../../../src/kernel/base/limits.ts";
import { LocalCall } from "../../../../src/kernel/executor/dispatch/local-call.ts";
import { ToolQueue } from "../../../../src/kernel/executor/dispatch/tool-queue.ts";
import { TurnTimeEstimate } from "../../../../src/kernel/executor/dispatch/turn-time-estimate.ts";
import { job, tool } from "./workers.ts";

function flight(run: number): LocalCall {
  return new LocalCall(job(run, script), 0);
}

const script = tool("t");

test("calls leave in the order in which they came, however they are added, taken and put back", () => {
  const step = fc.record({ add: fc.nat(30), take: fc.nat(3), isPutBack: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, isQuick) => {
      const pace = new TurnTimeEstimate();
      for (let turn = 0; turn < 20; turn++) pace.record(1, isQuick ? 0.01 : 5);
      const line = new ToolQueue(script, "", pace);
      const left: number[] = [];
      let last = 0;
      for (const { add, take, isPutBack } of steps) {
        for (let count = 0; count < add; count++) {
          left.push(++last);
          line.add(flight(last));
        }
        for (let count = 0; count < take; count++) {
          const { calls, runs } = line.take();
          expect(runs).toEqual(left.slice(0, runs.length));
          expect(runs.length > 0).toBe(left.length > 0);
          if (isPutBack) line.putBack(calls);
          else left.splice(0, runs.length);
        }
        expect(line.isEmpty).toBe(left.length === 0);
      }
    }),
  );
});

/** Found by a review: a call with limits of its own, or in the name of a key with some, never shared a turn. */
test("calls with limits of their own go together where their turn has the same ones", () => {
  const turnTime = new TurnTimeEstimate();
  for (let turn = 0; turn < 20; turn++) turnTime.record(1, 0.01);
  const queue = new ToolQueue(script, "", turnTime);
  const own: readonly Partial<Limits>[] = [
    {},
    { wallMs: 5_000 },
    { wallMs: 6_000, queueMs: 100 },
    { cpuMs: 50 },
    { cpuMs: 50, wallMs: 5_000 },
    { cpuMs: 50, logBytes: 100 },
    { cpuMs: 50, logBytes: 100, capabilityCalls: 1 },
  ];
  for (const [run, limits] of own.entries()) {
    queue.add(new LocalCall({ ...job(run, script), limits: { ...DEFAULT_LIMITS, ...limits } }, 0));
  }
  const together: (readonly number[])[] = [];
  while (!queue.isEmpty) together.push(queue.take().runs);
  expect(together).toEqual([[0, 1, 2], [3, 4], [5], [6]]);
});

test("a queue that is never empty does not hold on to the calls that have left it", async () => {
  const line = new ToolQueue(script, "", new TurnTimeEstimate());
  let first: WeakRef<LocalCall> | undefined;
  line.add(flight(0));
  for (let run = 1; run < 5_000; run++) {
    const next = flight(run);
    if (run === 1) first = new WeakRef(next);
    line.add(next);
    line.take();
  }
  expect(line.isEmpty).toBe(false);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as NodeJS.GCFunction;
  await new Promise((done) => setTimeout(done, 1));
  await collect({ execution: "async", type: "major" });
  expect(first?.deref()).toBeUndefined();
});

/** A queue of a tool whose calls take so long, with calls by these numbers. */
function queueOf(turnMs: number, runs: readonly number[], onIdle?: () => void) {
  const turnTime = new TurnTimeEstimate();
  for (let turn = 0; turn < 20; turn++) turnTime.record(1, turnMs);
  const queue = new ToolQueue(script, "", turnTime, onIdle);
  const calls = runs.map(flight);
  for (const call of calls) queue.add(call);
  return { queue, calls };
}

const end = (call: LocalCall | undefined) =>
  call?.conclude({ ok: false, failure: { code: "cancelled", message: "it is over" } }, 0, 0, 0);

test("a call that needs its turn alone gets it, and those before and behind it go without it", () => {
  const { queue, calls } = queueOf(0.005, [1, 2, 3, 4]);
  for (const call of calls) call.alone = call.callNumber === 2;
  const turns: unknown[] = [];
  while (!queue.isEmpty) turns.push([queue.isNextAlone, queue.take().runs]);
  expect(turns).toEqual([
    [false, [1]],
    [true, [2]],
    [false, [3, 4]],
  ]);
});

test("calls that ended while they waited are passed over, wherever they are", () => {
  const { queue, calls } = queueOf(0.005, [1, 2, 3, 4]);
  const [first, , third, fourth] = calls;
  if (first !== undefined) first.alone = true;
  for (const call of [first, third]) end(call);
  expect(queue.isNextAlone).toBe(false);
  expect(queue.take().runs).toEqual([2, 4]);
  const left = queueOf(5, [5, 6, 7]);
  left.queue.take();
  end(left.calls[1]);
  expect([left.queue.clear().map(({ callNumber }) => callNumber), left.queue.clear(), left.queue.isEmpty]).toEqual([
    [7],
    [],
    true,
  ]);
  const over = queueOf(5, [8]);
  end(over.calls[0]);
  expect([over.queue.isEmpty, fourth?.isOver]).toEqual([true, false]);
});

test("long arguments do not go together", () => {
  const { queue } = queueOf(0.005, []);
  for (const run of [1, 2, 3]) queue.add(new LocalCall({ ...job(run, script), args: "x".repeat(30_000) }, 0));
  expect([queue.take().runs, queue.take().runs]).toEqual([[1, 2], [3]]);
});

test("the calls that still wait are shared, and are what is expected to take time", () => {
  const { queue } = queueOf(
    0.005,
    Array.from({ length: 100 }, (_, run) => run),
  );
  expect([queue.take(2).size, queue.take(2).size]).toEqual([50, 25]);
  expect(queue.expectedMs).toBeCloseTo(25 * 0.005);
});

test("a queue is idle once its last batch has ended and nothing waits", () => {
  let idle = 0;
  const { queue } = queueOf(5, [1, 2, 3], () => idle++);
  const told: number[] = [];
  const endBatch = () => {
    queue.endBatch();
    told.push(idle);
  };
  queue.take();
  endBatch();
  queue.take();
  queue.take();
  endBatch();
  endBatch();
  expect(told).toEqual([0, 0, 1]);
});
