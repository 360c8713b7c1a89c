import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeToHost } from "../../../../src/kernel/base/protocol/wire.ts";
import type { ToolScript } from "../../../../src/kernel/base/protocol/script.ts";
import type { CapabilityCall, Respond } from "../../../../src/kernel/executor/executor.ts";
import { dispatch, fakeWorker, job, nextTurn, sendOff, startsOf, TOOL, tool } from "./workers.ts";

test.each([
  ["no message at all", "nonsense\n"],
  ["a result whose failure is no JSON", "d\t1\t0\t1\t1\t0\t0\t0\t\t{{{\n"],
  ["a result whose failure has an unknown code", 'd\t1\t0\t1\t1\t0\t0\t\t{"code":"free_money","message":"x"}\n'],
  ["a malformed outcome", "e\t1\t1\t1\tnonsense\t\n"],
  ["an outcome that is a failure of an unknown code", 'e\t1\t1\t1\t-{"code":"free_money","message":"x"}\t\n'],
  ["more outcomes than there were calls", "e\t1\t1\t1\t1\t+1\t+1\t\n"],
  ["a loss without a reason", "x\t1\tnope\n"],
  ["an ask whose names are no strings", "a\t1\t1\t1\t1\t0\t{}\t[]\tnull\n"],
  ["malformed statistics", "t\t{}\n"],
  ["statistics of kinds that nobody knows", 't\t{"active":0,"warm":0,"blank":0,"starts":{"x":1},"heapBytes":{}}\n'],
])("a worker that sends %s is given up, and its call is still there to run again", async (_what, line) => {
  const { dispatcher, lane, broken, say } = dispatch();
  const [reply] = await sendOff(dispatcher, [1]);
  say(line);
  expect(broken).toEqual(["ProtocolError"]);
  expect(dispatcher.detach(lane)).toEqual([1]);
  dispatcher.close("engine_closed", "the test is over");
  expect((await reply)?.outcome).toMatchObject({ ok: false, failure: { code: "engine_closed" } });
});

test("a worker cannot settle a call that is not its own, nor one twice", async () => {
  const { dispatcher, say } = dispatch();
  const [reply] = await sendOff(dispatcher, [1]);
  const done = {
    kind: "done",
    ok: true,
    cpuMs: 1,
    heapBytes: 1,
    dropped: 0,
    deliveredCount: 0,
    asked: false,
    turns: "",
    logs: "",
    payload: "1",
  } as const;
  say(encodeToHost({ ...done, callNumber: 2 }));
  say(encodeToHost({ kind: "ran", callNumber: 2, cpuMs: 1, lastCpuMs: 1, heapBytes: 1, outcomes: "+0\t" }));
  say(encodeToHost({ kind: "ran", callNumber: 1, cpuMs: 1, lastCpuMs: 1, heapBytes: 1, outcomes: '+"first"\t' }));
  say(encodeToHost({ ...done, callNumber: 1, payload: '"second"' }));
  expect((await reply)?.outcome).toEqual({ ok: true, json: '"first"' });
  dispatcher.close("engine_closed", "the test is over");
});

test("a call that goes on after its turn is settled when it is done, and makes room for others before", async () => {
  const { dispatcher, lane, sent, say } = dispatch();
  const [first, second] = await sendOff(dispatcher, [1, 2]);
  // Nothing is known of the tool, so the second waits in the host.
  expect(sent.join("")).not.toContain("r\t2\t");
  say(encodeToHost({ kind: "ran", callNumber: 1, cpuMs: 1, lastCpuMs: 1, heapBytes: 1, outcomes: "\t" }));
  await nextTurn();
  expect(sent.join("")).toContain("r\t2\t");
  say(encodeToHost({ kind: "ran", callNumber: 2, cpuMs: 1, lastCpuMs: 1, heapBytes: 1, outcomes: "+2\t" }));
  const rest = {
    cpuMs: 2,
    heapBytes: 1,
    dropped: 0,
    deliveredCount: 0,
    asked: false,
    turns: "",
    logs: "",
    payload: "1",
  };
  say(encodeToHost({ kind: "done", callNumber: 1, ok: true, ...rest }));
  expect([(await first)?.outcome, (await second)?.outcome]).toEqual([
    { ok: true, json: "1" },
    { ok: true, json: "2" },
  ]);
  expect(dispatcher.detach(lane)).toEqual([]);
  dispatcher.close("engine_closed", "the test is over");
});

/** A worker that has answered enough quick calls of the tools for more of them to go together. */
async function acquainted(...tools: readonly ToolScript[]) {
  const worker = dispatch();
  for (const [at, script] of [TOOL, ...tools].entries()) {
    for (let run = 1 + at * 1_000; run <= 8 + at * 1_000; run++) {
      void (await sendOff(worker.dispatcher, [run], script));
      worker.say(
        encodeToHost({ kind: "ran", callNumber: run, cpuMs: 0.005, lastCpuMs: 0.005, heapBytes: 1, outcomes: "+0\t" }),
      );
    }
  }
  worker.sent.length = 0;
  return worker;
}

test("quick calls of a tool go together, and those that were not started go first the next time", async () => {
  const { dispatcher, sent, say } = await acquainted();
  const replies = await sendOff(dispatcher, [11, 12, 13]);
  expect(sent.join("")).toContain("r\t11,12,13\t");
  say(encodeToHost({ kind: "ran", callNumber: 11, cpuMs: 0, lastCpuMs: 0.01, heapBytes: 1, outcomes: "+11\t" }));
  await nextTurn();
  expect(sent.join("")).toContain("r\t12,13\t");
  say(encodeToHost({ kind: "ran", callNumber: 12, cpuMs: 0, lastCpuMs: 0.01, heapBytes: 1, outcomes: "+12\t+13\t" }));
  const settled = await Promise.all(replies);
  expect(settled.map(({ outcome, attempts }) => [outcome, attempts])).toEqual(
    ["11", "12", "13"].map((json) => [{ ok: true, json }, 1]),
  );
  dispatcher.close("engine_closed", "the test is over");
});

test("a worker has two batches of a tool's calls, and calls that come meanwhile wait for one another", async () => {
  const { dispatcher, sent, say } = await acquainted();
  const starts = () =>
    [
      ...sent
        .splice(0)
        .join("")
        .matchAll(/^r\t([\d,]+)\t/gm),
    ].map(([, runs = ""]) => runs.split(","));
  const calls = Array.from({ length: 40 }, (_, at) => at + 11);
  void (await sendOff(dispatcher, calls));
  const [first = [], second = []] = starts();
  expect([...first, ...second]).toEqual(calls.map(String));
  expect([first.length, second.length]).toEqual([20, 20]);
  for (const call of [101, 102, 103]) void (await sendOff(dispatcher, [call]));
  expect(starts()).toEqual([]);
  const answer = (runs: readonly string[]) => {
    const outcomes = "+0\t".repeat(runs.length);
    say(
      encodeToHost({ kind: "ran", callNumber: Number(runs[0]), cpuMs: 0.1, lastCpuMs: 0.005, heapBytes: 1, outcomes }),
    );
  };
  answer(first);
  await nextTurn();
  expect(starts()).toEqual([["101", "102", "103"]]);
  dispatcher.close("engine_closed", "the test is over");
});

test("calls of another tool do not wait for the batches of one", async () => {
  const another = tool("another");
  const { dispatcher, sent } = await acquainted(another);
  for (const call of [11, 12, 13]) void (await sendOff(dispatcher, [call]));
  void (await sendOff(dispatcher, [14], another));
  expect([...sent.join("").matchAll(/^r\t([\d,]+)\t/gm)].map(([, runs]) => runs)).toEqual(["11", "12", "14"]);
  dispatcher.close("engine_closed", "the test is over");
});

test("the batches of a lost worker hold up no calls of their tool", async () => {
  const { dispatcher, lane, sent } = await acquainted();
  void (await sendOff(
    dispatcher,
    Array.from({ length: 40 }, (_, at) => at + 11),
  ));
  const open = dispatcher.detach(lane);
  for (const call of open) dispatcher.restart(call, "the test took it away", true);
  sent.length = 0;
  dispatcher.attach(lane);
  await nextTurn();
  expect(sent.join("")).toContain("r\t11\t");
  dispatcher.close("engine_closed", "the test is over");
});

test("the batches of a worker that gets no more work hold up no calls of their tool", async () => {
  const { dispatcher, lane } = await acquainted();
  void (await sendOff(
    dispatcher,
    Array.from({ length: 40 }, (_, at) => at + 11),
  ));
  dispatcher.retire(lane);
  const next = fakeWorker(dispatcher, 1);
  void (await sendOff(dispatcher, [101]));
  expect(startsOf(next)).toEqual(["101"]);
  dispatcher.close("engine_closed", "the test is over");
});

test("calls whose turn was cut start again one by one", async () => {
  const { dispatcher, sent, say } = await acquainted();
  const replies = await sendOff(dispatcher, [11, 12]);
  say(encodeToHost({ kind: "cut", callNumber: 11, cpuMs: 50 }));
  for (const run of [11, 12]) {
    await nextTurn();
    expect(sent.join("")).toContain(`r\t${run}\t`);
    say(encodeToHost({ kind: "ran", callNumber: run, cpuMs: 40, lastCpuMs: 40, heapBytes: 1, outcomes: `+${run}\t` }));
  }
  expect((await Promise.all(replies)).map(({ attempts }) => attempts)).toEqual([2, 2]);
  dispatcher.close("engine_closed", "the test is over");
});

test("nothing a worker says makes the host throw", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 20 }), (chunks) => {
      const { dispatcher, say } = dispatch();
      for (const chunk of chunks) say(`${chunk}\n`);
      dispatcher.close("engine_closed", "the test is over");
    }),
  );
});

test("calls wait where there is no worker, and start when one comes", async () => {
  const { dispatcher, lane, sent, say } = dispatch();
  dispatcher.detach(lane);
  const [reply] = await sendOff(dispatcher, [1]);
  expect(sent).toEqual([]);
  dispatcher.attach(lane);
  await nextTurn();
  expect(sent.join("")).toContain("r\t1\t");
  say(encodeToHost({ kind: "ran", callNumber: 1, cpuMs: 1, lastCpuMs: 1, heapBytes: 1, outcomes: "+1\t" }));
  expect((await reply)?.attempts).toBe(1);
  dispatcher.close("engine_closed", "the test is over");
});

test("a call that no worker took ends with queue_timeout, for nothing was wrong with its tool", async () => {
  const { dispatcher, lane } = dispatch();
  dispatcher.detach(lane);
  const waiting = job(1, tool("t"), 30);
  dispatcher.run(waiting);
  const { outcome, attempts, wallMs, waitedMs } = await waiting.reply;
  expect({ outcome, attempts, wallMs }).toMatchObject({
    outcome: { ok: false, failure: { code: "queue_timeout" } },
    attempts: 0,
    wallMs: 0,
  });
  expect(waitedMs).toBeGreaterThan(29);
  dispatcher.close("engine_closed", "the test is over");
});

test("a call that lost its worker and finds no other ends with executor_lost", async () => {
  const { dispatcher, lane } = dispatch();
  const lost = job(1, tool("t"), 30);
  dispatcher.run(lost);
  await nextTurn();
  for (const run of dispatcher.detach(lane)) dispatcher.restart(run, "the test took it away");
  expect(await lost.reply).toMatchObject({ outcome: { ok: false, failure: { code: "executor_lost" } }, attempts: 1 });
  dispatcher.close("engine_closed", "the test is over");
});

test("a call that was taken back after it had asked is answered when it asks again", async () => {
  const { dispatcher, sent, say } = await acquainted();
  const attempts: number[] = [];
  const asking = {
    ...job(12, TOOL),
    ask: ({ attempt }: CapabilityCall, respond: Respond): void => {
      attempts.push(attempt);
      respond({ kind: "value", nowMs: 0, json: "1" });
    },
  };
  dispatcher.run(job(11, TOOL));
  dispatcher.run(asking);
  await nextTurn();
  const ask = encodeToHost({
    kind: "ask",
    callNumber: 12,
    attempt: 1,
    step: 1,
    nowMs: 1,
    deliveredCount: 0,
    capability: "a",
    method: "b",
    args: "1",
  });
  say(ask);
  say(encodeToHost({ kind: "ran", callNumber: 11, cpuMs: 0, lastCpuMs: 0.01, heapBytes: 1, outcomes: "+11\t" }));
  await nextTurn();
  say(ask);
  await nextTurn();
  expect(attempts).toEqual([1, 2]);
  expect(sent.join("").match(/^s\t12\t1\t1/gm)).not.toBe(null);
  dispatcher.close("engine_closed", "the test is over");
});
