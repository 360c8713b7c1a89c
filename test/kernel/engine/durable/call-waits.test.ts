import { expect, test, vi } from "vitest";
import type { EngineCall } from "../../../../src/kernel/engine/call/engine-call.ts";
import { CallWaits } from "../../../../src/kernel/engine/durable/call-waits.ts";
import type { DurableAnswer, DurableStep } from "../../../../src/kernel/store/calls/durable/durable-step.ts";

const SNAPSHOT = { kind: "journal", journal: "{}", plan: "" } as const;

/** Regression, found by the simulation of calls that wait (seed 523497): the timer fired while the pause was stored. */
test("a run whose timer has come near while it was looked at does not pause before it has fired", async () => {
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  let looks = 0;
  const snapshot = (): Promise<typeof SNAPSHOT | null> => {
    // What it has asked is on its way to the broker yet; time passes meanwhile.
    clock.mockReturnValue(90);
    return Promise.resolve(++looks === 1 ? null : SNAPSHOT);
  };
  const tool = { script: { isolation: "instance" } };
  const call = {
    callNumber: 1,
    clockMs: 0,
    isSettled: false,
    options: {},
    parent: null,
    session: { snapshot, goOn: () => undefined },
    tool,
  };
  const steps: DurableStep[] = [];
  const paused = Promise.withResolvers<CallWaits>();
  const waits = new CallWaits(
    call as unknown as EngineCall,
    { id: "c_1", leg: 2, isStored: true, waits: [], endsMs: null, cpuMs: 5 },
    {
      take: async (step) => {
        steps.push(step);
        return { kind: "done", call: null };
      },
      executor: { watch: () => undefined, cancel: () => undefined },
      entropyKey: "",
      holder: "a",
      waiting: { expiresMs: 1_000, lingerMs: 20 },
      onPause: paused.resolve,
      onSettle: () => undefined,
    },
  );
  void waits.wait(3, { kind: "signal", name: "go" }, null).catch(() => undefined);
  waits.onIdle({ asked: 3, delivered: 2, dueInMs: 100 });
  await vi.waitUntil(() => looks > 0);
  // Further looks find the timer due in 10 ms, and ask for no snapshot.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([looks, steps]).toEqual([1, []]);
  waits.onIdle({ asked: 4, delivered: 3, dueInMs: 200, usedMs: 7 });
  await paused.promise;
  // Processor time of this run, and of those before.
  const runs = expect.stringContaining('"cpuMs":12}') as string;
  expect(steps).toMatchObject([{ kind: "pause", call: { id: "c_1", leg: 2, waits: [{ step: 3 }], runs } }]);
});

test("before an effect of a call that it has made, a run asks the store whether it is still the call's, unless it did lately", async () => {
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  const steps: DurableStep[] = [];
  const cancelled: unknown[] = [];
  let answer: DurableAnswer = { kind: "done", call: null };
  const waits = new CallWaits(
    { callNumber: 1, clockMs: 0, options: {}, parent: null, tool: {} } as unknown as EngineCall,
    { id: "c_1", leg: 2, isStored: true, waits: [], endsMs: null, cpuMs: 0 },
    {
      take: async (step) => {
        steps.push(step);
        return answer;
      },
      executor: { watch: () => undefined, cancel: (...given) => void cancelled.push(given) },
      entropyKey: "",
      holder: "a",
      waiting: { expiresMs: 1_000, lingerMs: 20 },
      onPause: () => undefined,
      onSettle: () => undefined,
    },
  );
  await waits.confirm();
  clock.mockReturnValue(9_000);
  await waits.confirm();
  await waits.confirm();
  expect(steps).toMatchObject([{ kind: "append", id: "c_1", leg: 2, lines: [] }]);
  // It was stopped for a while.
  clock.mockReturnValue(60_000);
  answer = { kind: "lost" };
  await expect(waits.confirm()).rejects.toMatchObject({ code: "outcome_unknown" });
  expect(cancelled).toEqual([[1, "outcome_unknown", expect.any(String)]]);
});
