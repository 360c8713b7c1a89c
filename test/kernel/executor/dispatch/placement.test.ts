import { expect, test } from "vitest";
import { place, placeQueue } from "../../../../src/kernel/executor/dispatch/placement.ts";
import { homeOf, type ToolScript } from "../../../../src/kernel/base/protocol/script.ts";
import { ToolQueue } from "../../../../src/kernel/executor/dispatch/tool-queue.ts";
import { TurnTimeEstimate } from "../../../../src/kernel/executor/dispatch/turn-time-estimate.ts";
import type { WorkerConnection } from "../../../../src/kernel/executor/dispatch/worker-connection.ts";
import { dispatch, job, nextTurn, sendOff, startsOf, tool } from "./workers.ts";

type Setup = ReturnType<typeof dispatch>;

/** Answers whatever call of these runs was sent, wherever it went. */
function answerAll({ workers }: Setup, runs: readonly number[], turnMs: number): void {
  for (const worker of workers) {
    for (const start of startsOf(worker)) {
      const sent = start.split(",").map(Number);
      if (sent.every((run) => runs.includes(run))) worker.answer(sent[0] ?? 0, turnMs, ...sent.map(String));
    }
    worker.sent.length = 0;
  }
}

let lastRun = 0;

/** Lets the dispatcher learn how long the calls of a tool take. */
async function teach(setup: Setup, script: ReturnType<typeof tool>, turnMs: number, turns = 12): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    const runs = [++lastRun];
    void (await sendOff(setup.dispatcher, runs, script));
    answerAll(setup, runs, turnMs);
  }
}

const starts = ({ workers }: Setup) => workers.map(startsOf);

test("calls of a tool that nobody knows go alone, and nothing goes behind them", async () => {
  const setup = dispatch();
  void (await sendOff(setup.dispatcher, [1, 2], tool("new")));
  void (await sendOff(setup.dispatcher, [3], tool("other")));
  expect(starts(setup)).toEqual([["1"]]);
  setup.answer(1, 0.01, "1");
  await nextTurn();
  expect(starts(setup)).toEqual([["1", "2"]]);
  setup.dispatcher.close("engine_closed", "the test is over");
});

test("a quick call does not wait behind a long one while another worker is free", async () => {
  const setup = dispatch(2);
  const [quick, slow] = [tool("quick"), tool("slow")];
  await teach(setup, quick, 0.01);
  await teach(setup, slow, 500, 1);
  void (await sendOff(setup.dispatcher, [1_001], slow));
  void (await sendOff(setup.dispatcher, [1_002], quick));
  expect(new Set(starts(setup).map(String))).toEqual(new Set(["1001", "1002"]));
  setup.dispatcher.close("engine_closed", "the test is over");
});

test("slow calls leave one worker to the others", async () => {
  const setup = dispatch(3);
  const [quick, slow] = [tool("quick"), tool("slow")];
  await teach(setup, quick, 0.01);
  await teach(setup, slow, 500, 1);
  void (await sendOff(setup.dispatcher, [1_001, 1_002, 1_003, 1_004], slow));
  expect(starts(setup).flat().length).toBe(2);
  void (await sendOff(setup.dispatcher, [1_005], quick));
  expect(starts(setup).flat()).toContain("1005");
  setup.dispatcher.close("engine_closed", "the test is over");
});

test("slow calls use all workers while no quick tool is called", async () => {
  const setup = dispatch(2);
  const slow = tool("slow");
  await teach(setup, slow, 500, 1);
  void (await sendOff(setup.dispatcher, [1_001, 1_002], slow));
  expect(starts(setup).flat().toSorted()).toEqual(["1001", "1002"]);
  setup.dispatcher.close("engine_closed", "the test is over");
});

test("slow calls run where there is but one worker", async () => {
  const setup = dispatch(1);
  const slow = tool("slow");
  await teach(setup, slow, 500, 1);
  void (await sendOff(setup.dispatcher, [1_001], slow));
  expect(starts(setup)).toEqual([["1001"]]);
  setup.dispatcher.close("engine_closed", "the test is over");
});

test("a call goes where its tool is warm, unless warming it elsewhere takes less time than waiting there", async () => {
  const setup = dispatch(2);
  const [first, second] = [tool("first"), tool("second")];
  await teach(setup, first, 0.01);
  await teach(setup, second, 20);
  // Which worker is warm for the first shows where its next call goes.
  void (await sendOff(setup.dispatcher, [2_001], first));
  const warm = starts(setup).findIndex((each) => each.length > 0);
  expect(warm).toBe(0);
  // With 20 ms of work on it, the other one is faster in spite of having to warm up.
  setup.workers[0]?.lane.begin(
    1,
    { runs: [1], size: 1, script: second, tenant: "", expectedMs: 20, isLong: false, isSlow: false },
    { kind: "cancel", callNumber: 1 },
    performance.now(),
  );
  void (await sendOff(setup.dispatcher, [2_002], first));
  expect(startsOf(setup.workers[1] ?? setup)).toEqual(["2002"]);
  setup.dispatcher.close("engine_closed", "the test is over");
});

test("many calls of a tool spread over the workers", async () => {
  const setup = dispatch(2);
  const medium = tool("medium");
  await teach(setup, medium, 4);
  void (await sendOff(setup.dispatcher, [1_001, 1_002, 1_003, 1_004], medium));
  expect(starts(setup).map((each) => each.length)).toEqual([1, 1]);
  setup.dispatcher.close("engine_closed", "the test is over");
});

test("quick calls are not all sent ahead: what would wait stays where it can still go elsewhere", async () => {
  const setup = dispatch(1);
  const quick = tool("quick");
  await teach(setup, quick, 0.1, 40);
  const runs = Array.from({ length: 200 }, (_, index) => 1_001 + index);
  void (await sendOff(setup.dispatcher, runs, quick));
  const sent = starts(setup)
    .flat()
    .flatMap((start) => start.split(","));
  expect(sent.length).toBeGreaterThanOrEqual(10);
  expect(sent.length).toBeLessThan(60);
  setup.dispatcher.close("engine_closed", "the test is over");
});

test("a call that ended while it waited is not sent", async () => {
  const setup = dispatch(1);
  const [, waiting] = await sendOff(setup.dispatcher, [1, 2], tool("new"));
  setup.dispatcher.end(2, { code: "cancelled", message: "the test wants it" });
  expect((await waiting)?.outcome).toMatchObject({ ok: false, failure: { code: "cancelled" } });
  setup.answer(1, 0.01, "1");
  void (await sendOff(setup.dispatcher, [3], tool("new")));
  expect(starts(setup).flat()).toEqual(["1", "3"]);
  setup.dispatcher.close("engine_closed", "the test is over");
});

/** Answers one batch after the other, and says in which order calls were sent, as long as some were. */
async function answerOn(setup: Setup, turnMs: number): Promise<string[]> {
  const order: string[] = [];
  for (;;) {
    const sent = starts(setup).flat();
    if (sent.length === 0) return order;
    order.push(...sent.flatMap((start) => start.split(",")));
    answerAll(setup, sent.join().split(",").map(Number), turnMs);
    await nextTurn();
  }
}

test("a call that needs a worker whole gets it soon, however many quick ones keep coming", async () => {
  const setup = dispatch(1);
  const [quick, slow] = [tool("quick"), tool("slow")];
  await teach(setup, quick, 0.1, 40);
  await teach(setup, slow, 500, 1);
  void (await sendOff(
    setup.dispatcher,
    Array.from({ length: 400 }, (_, index) => 1_001 + index),
    quick,
  ));
  void (await sendOff(setup.dispatcher, [9_001], slow));
  void (await sendOff(setup.dispatcher, [9_002], tool("new")));
  const order = await answerOn(setup, 0.1);
  expect(order).toHaveLength(402);
  expect(order.indexOf("9001")).toBeLessThan(100);
  expect(order.indexOf("9002")).toBeLessThan(150);
  setup.dispatcher.close("engine_closed", "the test is over");
});

test("tools take turns: one with many calls does not keep another from its own", async () => {
  const setup = dispatch(1);
  const [many, few] = [tool("many"), tool("few")];
  await teach(setup, many, 0.1, 40);
  await teach(setup, few, 0.1, 40);
  void (await sendOff(
    setup.dispatcher,
    Array.from({ length: 400 }, (_, index) => 1_001 + index),
    many,
  ));
  void (await sendOff(setup.dispatcher, [9_001], few));
  const order = await answerOn(setup, 1);
  expect(order.indexOf("9001")).toBeLessThan(100);
  setup.dispatcher.close("engine_closed", "the test is over");
});

test("calls that were only sent ahead of a lost worker have not lost an attempt", async () => {
  const setup = dispatch(2);
  const quick = tool("quick");
  await teach(setup, quick, 0.19, 40);
  const replies = await sendOff(setup.dispatcher, [1_001, 1_002, 1_003, 1_004, 1_005, 1_006, 1_007, 1_008], quick);
  const [first, second] = setup.workers;
  if (first === undefined || second === undefined) throw new Error("there are two workers");
  expect(startsOf(first).length).toBeGreaterThan(1);
  for (const run of setup.dispatcher.detach(first.lane)) setup.dispatcher.restart(run, "the test wants it");
  await nextTurn();
  await answerOn(setup, 0.1);
  const attempts = (await Promise.all(replies)).map((reply) => reply.attempts);
  expect(new Set(attempts)).toEqual(new Set([1, 2]));
  setup.dispatcher.close("engine_closed", "the test is over");
});

test("calls of tools that nobody knows spread over the workers", async () => {
  const setup = dispatch(2);
  for (const run of [1, 2]) setup.dispatcher.run(job(run, tool(`unknown-${run}`)));
  await nextTurn();
  expect(starts(setup)).toEqual([["1"], ["2"]]);
  setup.dispatcher.close("engine_closed", "the test is over");
});

/** Gives a worker work that takes so long. */
function occupy(lane: WorkerConnection, expectedMs: number, isLong: boolean): void {
  const work = { runs: [1], size: 1, script: tool("work"), tenant: "", expectedMs, isLong, isSlow: false };
  lane.begin(1, work, { kind: "cancel", callNumber: 1 }, 0);
}

/** The queue of a tool whose turns took so long, or that nobody knows. */
function queueOf(script: ReturnType<typeof tool>, turnMs?: number): ToolQueue {
  const turnTime = new TurnTimeEstimate();
  if (turnMs !== undefined) turnTime.record(1, turnMs);
  return new ToolQueue(script, "", turnTime);
}

test("a worker for which a call waits that needs it alone gets nothing else, and one without room is kept for nobody", () => {
  const { lane } = dispatch();
  const lanes = new Set([lane]);
  const terms = { held: [] as WorkerConnection[], isReserved: false };
  occupy(lane, 0.01, false);
  expect(placeQueue(lanes, queueOf(tool("quick"), 0.01), 0, terms)).toBe(lane);
  expect(placeQueue(lanes, queueOf(tool("new")), 0, terms)).toBeNull();
  expect(terms.held).toEqual([lane]);
  expect(placeQueue(lanes, queueOf(tool("quick"), 0.01), 0, terms)).toBeNull();

  const full = dispatch();
  const others = { held: [] as WorkerConnection[], isReserved: false };
  occupy(full.lane, 0.01, true);
  expect(placeQueue(new Set([full.lane]), queueOf(tool("quick"), 0.01), 0, others)).toBeNull();
  expect(others.held).toEqual([]);
});

test("a tool with an interpreter waits longer for a warm worker, as another has to start one", () => {
  const [warm, cold] = dispatch(2).workers.map(({ lane }) => lane);
  if (warm === undefined || cold === undefined) throw new Error("there are two workers");
  const script = tool("t");
  warm.recordWarm(homeOf(script.key, ""));
  occupy(warm, 50, false);
  const placed = (own: ToolScript) =>
    placeQueue(new Set([warm, cold]), queueOf(own, 0.01), 0, { held: [], isReserved: false });
  expect(placed(script)).toBe(cold);
  // The warm one has no room yet.
  expect(placed({ ...script, isInterpreted: true })).toBeNull();
});

test("an inspection goes to the worker that is free first, and waits where none has room", () => {
  const { workers } = dispatch(2);
  const lanes = new Set(workers.map(({ lane }) => lane));
  const [first, second] = [...lanes];
  expect(place(new Set(), 0)).toBeNull();
  if (first === undefined || second === undefined) throw new Error("there are two workers");
  occupy(first, 0.01, false);
  for (const order of [lanes, new Set([second, first])]) expect(place(order, 0)).toBe(second);
  expect(place(new Set([first]), 0)).toBe(first);
  occupy(second, 500, true);
  expect(place(new Set([second]), 0)).toBeNull();
});
