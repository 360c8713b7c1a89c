import { expect, test } from "vitest";
import { encodeToHost, encodeToWorker } from "../../../../src/kernel/base/protocol/wire.ts";
import { LingeringWork } from "../../../../src/kernel/executor/dispatch/lingering-work.ts";
import { LocalCall } from "../../../../src/kernel/executor/dispatch/local-call.ts";
import { dispatch, job, nextTurn, sendOff, TOOL } from "./workers.ts";

const CANCELLED = { code: "cancelled", message: "the test wants it" } as const;
const DONE = { kind: "done", heapBytes: 0, dropped: 0, deliveredCount: 0, asked: false, turns: "", logs: "" } as const;

/** A dispatcher whose only worker has a call; it was answered with `cancelled`. */
async function cancelOne() {
  const fake = dispatch();
  const [reply] = await sendOff(fake.dispatcher, [1]);
  fake.dispatcher.end(1, CANCELLED);
  const work = (await reply)?.work;
  let told: number | null = null;
  void work?.then((cpuMs) => (told = cpuMs));
  await nextTurn();
  return { ...fake, told: () => told };
}

test("a cancelled call's worker is told, and its work ends when the turn in which it began has ended", async () => {
  const { dispatcher, interrupted, sent, say, told } = await cancelOne();
  expect(interrupted).toEqual([1]);
  expect(sent.join("")).toContain(encodeToWorker({ kind: "cancel", callNumber: 1 }));
  expect([told(), dispatcher.isIdle]).toEqual([null, false]);
  say(encodeToHost({ kind: "ran", callNumber: 1, cpuMs: 7, lastCpuMs: 7, heapBytes: 0, outcomes: "+1\t" }));
  await nextTurn();
  expect([told(), dispatcher.isIdle]).toEqual([7, true]);
});

test("the work of a cancelled call that goes on after its turn ends with the call", async () => {
  const { dispatcher, say, told } = await cancelOne();
  say(encodeToHost({ kind: "ran", callNumber: 1, cpuMs: 7, lastCpuMs: 7, heapBytes: 0, outcomes: "\t" }));
  await nextTurn();
  expect(told()).toBeNull();
  say(encodeToHost({ ...DONE, callNumber: 1, ok: true, cpuMs: 9, payload: "1" }));
  await nextTurn();
  expect([told(), dispatcher.isIdle]).toEqual([9, true]);
});

test.each([
  ["cut", encodeToHost({ kind: "cut", callNumber: 1, cpuMs: 50 }), 50],
  ["lost", encodeToHost({ kind: "lost", callNumber: 1, cpuMs: 0, payload: '"why"' }), 0],
  ["not started", encodeToHost({ kind: "ran", callNumber: 1, cpuMs: 0, lastCpuMs: 0, heapBytes: 0, outcomes: "" }), 0],
])("the work of a cancelled call ends when its turn was %s, and it does not start again", async (_how, line, cpuMs) => {
  const { dispatcher, sent, say, told } = await cancelOne();
  const sentBefore = sent.length;
  say(line);
  await nextTurn();
  expect([told(), dispatcher.isIdle]).toEqual([cpuMs, true]);
  expect(sent.slice(sentBefore).join("")).not.toContain("r\t1\t");
});

test("the work of a cancelled call ends with its worker", async () => {
  const { dispatcher, lane, told } = await cancelOne();
  expect(dispatcher.detach(lane)).toEqual([]);
  await nextTurn();
  expect([told(), dispatcher.isIdle]).toEqual([0, true]);
});

test("a cancelled call that ended its worker is charged all that it might use", async () => {
  const { dispatcher, told } = await cancelOne();
  expect([dispatcher.endLingering(1), dispatcher.endLingering(1)]).toEqual([true, false]);
  await nextTurn();
  expect(told()).toBe(2_000);
});

test("a call that is cancelled while it waits for a worker has no work", async () => {
  const { dispatcher, lane, interrupted } = dispatch();
  dispatcher.detach(lane);
  const [reply] = await sendOff(dispatcher, [1]);
  dispatcher.end(1, CANCELLED);
  expect(await reply).not.toHaveProperty("work");
  expect(interrupted).toEqual([]);
});

test("work of which nothing is heard ends when it is overdue, and is charged whole", async () => {
  const works = new LingeringWork<string>({ factor: 2, ms: 100 });
  const charged = works.add(new LocalCall(job(1, TOOL), 0), "here", 1_000);
  works.endOverdue(5_099);
  expect(works.size).toBe(1);
  works.endOverdue(5_100);
  expect([works.size, await charged]).toEqual([0, 2_000]);
});

test("work is at its own place, and ends with that and no other", async () => {
  const works = new LingeringWork<string>();
  const charged = ["here", "there"].map((place, at) => works.add(new LocalCall(job(at, TOOL), 0), place, 0));
  expect([works.isAt(0, "here"), works.isAt(0, "there"), works.isAt(7, "here")]).toEqual([true, false, false]);
  works.endOn("there");
  expect([works.size, await charged[1], works.isAt(0, "here")]).toEqual([1, 0, true]);
  works.endAll();
  expect([works.size, await charged[0]]).toEqual([0, 0]);
});
