import fc from "fast-check";
import { expect, test } from "vitest";
import { Dispatcher } from "../../../src/executor/dispatcher.ts";
import type { Job } from "../../../src/executor/executor.ts";
import { type Channel, Lane } from "../../../src/executor/lane.ts";
import { DEFAULT_LIMITS } from "../../../src/limits.ts";
import { encodeToHost } from "../../../src/protocol/wire.ts";

/** A worker that is nothing but what the test sends in its name. */
function hostileWorker() {
  let hear: (text: string) => void = () => undefined;
  const broken: string[] = [];
  const sent: string[] = [];
  const channel: Channel = {
    isPiecemeal: false,
    write: (text) => void sent.push(text),
    onText: (handler) => {
      hear = handler;
    },
    close: () => undefined,
  };
  let runs = 100;
  const dispatcher = new Dispatcher(
    { onBatch: () => undefined, onBroken: (_lane, error) => void broken.push(error.name) },
    () => ++runs,
  );
  const lane = new Lane(0, channel, dispatcher);
  dispatcher.attach(lane);
  return { dispatcher, lane, broken, sent, say: (text: string) => hear(text) };
}

function job(run: number): Job {
  return {
    run,
    script: { key: "1", name: "t", version: "1", isolation: "instance", memoryMb: 64, config: "null", text: "" },
    tenant: "",
    callId: "c",
    args: "{}",
    limits: DEFAULT_LIMITS,
    stream: false,
    ask: () => Promise.resolve({ kind: "value", nowMs: 0, json: "1" }),
    onLog: () => undefined,
  };
}

test.each([
  ["no message at all", "nonsense\n"],
  ["a result whose failure is no JSON", "d\t1\t0\t1\t1\t0\t\t{{{\n"],
  ["a result whose failure has a code that is none", 'd\t1\t0\t1\t1\t0\t\t{"code":"free_money","message":"x"}\n'],
  ["a loss without a reason", "x\t1\tnope\n"],
  ["an ask whose names are no strings", "a\t1\t1\t{}\t[]\tnull\n"],
])("a worker that sends %s is given up, and its call is still there to run again", async (_what, line) => {
  const { dispatcher, lane, broken, say } = hostileWorker();
  const reply = dispatcher.run(job(1));
  say(line);
  expect(broken).toEqual(["ProtocolError"]);
  expect(dispatcher.detach(lane)).toEqual([1]);
  dispatcher.close("engine_closed", "the test is over");
  expect((await reply).outcome).toMatchObject({ ok: false, failure: { code: "engine_closed" } });
});

test("a worker cannot settle a call that is not its own, nor one twice", async () => {
  const { dispatcher, say } = hostileWorker();
  const reply = dispatcher.run(job(1));
  const done = { kind: "done", ok: true, cpuMs: 1, heapBytes: 1, dropped: 0, logs: "", payload: "1" } as const;
  say(encodeToHost({ ...done, run: 2 }));
  say(encodeToHost({ ...done, run: 1, payload: '"first"' }));
  say(encodeToHost({ ...done, run: 1, payload: '"second"' }));
  expect((await reply).outcome).toEqual({ ok: true, json: '"first"' });
  dispatcher.close("engine_closed", "the test is over");
});

test("nothing a worker says makes the host throw", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 20 }), (chunks) => {
      const { dispatcher, say } = hostileWorker();
      for (const chunk of chunks) say(`${chunk}\n`);
      dispatcher.close("engine_closed", "the test is over");
    }),
  );
});

test("calls wait where there is no worker, and start when one comes", async () => {
  const { dispatcher, lane, sent, say } = hostileWorker();
  dispatcher.detach(lane);
  const reply = dispatcher.run(job(1));
  expect(sent).toEqual([]);
  dispatcher.attach(lane);
  await new Promise((done) => setImmediate(done));
  expect(sent.join("")).toContain("r\t1\t");
  say(encodeToHost({ kind: "done", run: 1, ok: true, cpuMs: 1, heapBytes: 1, dropped: 0, logs: "", payload: "1" }));
  expect((await reply).attempts).toBe(1);
  dispatcher.close("engine_closed", "the test is over");
});
