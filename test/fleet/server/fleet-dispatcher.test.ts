import { expect, test } from "vitest";
import type { Job } from "../../../src/kernel/executor/executor.ts";
import { FleetCall } from "../../../src/fleet/server/fleet-call.ts";
import { FleetDispatcher, type FleetDispatcherHost } from "../../../src/fleet/server/fleet-dispatcher.ts";
import { FleetJob } from "../../../src/fleet/server/fleet-job.ts";
import { inspectionJob } from "../../../src/fleet/server/inspection-job.ts";
import type { ServerMessage } from "../../../src/fleet/wire/messages.ts";
import { problemOf } from "../../../src/fleet/redis/problem.ts";
import { NO_CHECKS, type ToolScript } from "../../../src/kernel/base/protocol/script.ts";

const MACHINE = "machine-0000000000000001";
/** More than a call may wait, and less than it may wait and take. */
const LATER_MS = 32_000;

const SCRIPT: ToolScript = {
  key: "1",
  name: "a",
  version: "1",
  runtime: "javascript",
  isolation: "instance",
  memoryMb: 8,
  config: "null",
  checks: NO_CHECKS,
  contract: null,
  text: "",
};
const nothing = (): void => undefined;
const NO_HOST: FleetDispatcherHost = {
  emit: nothing,
  send: nothing,
  dispatch: nothing,
  release: nothing,
  withdraw: nothing,
  recordTurnTime: nothing,
  recordRefusal: nothing,
};

/** A call whose machine has been missed. */
function lostCall() {
  const ends: string[] = [];
  const sent: ServerMessage[] = [];
  const job: Job = {
    ...inspectionJob(1, SCRIPT, () => undefined),
    settle: ({ outcome }) => void ends.push(outcome.ok ? "ok" : outcome.failure.code),
  };
  const call = new FleetCall(job, performance.now(), true);
  const carrier = new FleetJob("job", [call], performance.now());
  const dispatcher = new FleetDispatcher({
    ...NO_HOST,
    send: (_machine, message) => void sent.push(message),
    dispatch: (sent) => {
      sent.carrier = carrier;
      dispatcher.onSent(carrier);
    },
  });
  dispatcher.run(call);
  dispatcher.onMessage(MACHINE, { kind: "taken", job: "job", start: 1 });
  dispatcher.onLeave(MACHINE);
  return { dispatcher, carrier, ends, sent };
}

test("a call whose machine is lost waits for another as long as it may, and no longer", () => {
  const { dispatcher, ends } = lostCall();
  dispatcher.endOverdue(performance.now() + LATER_MS);
  expect(ends).toEqual(["executor_lost"]);
});

test("a call whose machine was only missed has all of its time", () => {
  const back = lostCall();
  back.dispatcher.onJoin(MACHINE);
  const heard = lostCall();
  heard.dispatcher.onMessage(MACHINE, { kind: "log", callNumber: 1, start: 1, at: 0, lines: ["[]"] });
  for (const { dispatcher, ends } of [back, heard]) {
    dispatcher.endOverdue(performance.now() + LATER_MS);
    expect(ends).toEqual([]);
  }
});

const ASK = {
  kind: "ask",
  callNumber: 1,
  step: 1,
  attempt: 1,
  nowMs: 1,
  capability: "kv",
  method: "get",
  args: "[]",
} as const;

test("a machine that is no longer heard is told to end the very copy that it asks for, and a newer one goes on", () => {
  const { dispatcher, carrier, sent } = lostCall();
  dispatcher.sendAgain(carrier);
  dispatcher.onMessage(MACHINE, { ...ASK, job: "an older job", start: 1 });
  expect(sent).toEqual([{ kind: "cancel", callNumber: 1, job: "an older job", start: 1 }]);
});

test("a call that another machine has begun, or that ends, is cancelled where it was, by its job and the start of that", () => {
  const { dispatcher, sent } = lostCall();
  dispatcher.onMessage("machine-0000000000000002", { kind: "taken", job: "job", start: 2 });
  expect(sent[0]).toEqual({ kind: "cancel", callNumber: 1, job: "job", start: 1 });
  dispatcher.end(1, { code: "cancelled", message: "" });
  expect(sent.at(-1)).toEqual({ kind: "cancel", callNumber: 1, job: "job", start: 2 });
});

test("a call whose job a full Redis has lost is not sent again, and says why", () => {
  const { dispatcher, carrier, ends, sent } = lostCall();
  dispatcher.sendAgain(carrier, problemOf("LOADING"));
  expect(ends).toEqual([]);
  dispatcher.sendAgain(carrier, problemOf("OOM"));
  expect(ends).toEqual(["executor_lost"]);
  expect(sent).toEqual([]);
});

/** A call whose lines are listened to, on its machine. */
function streamed() {
  const told: string[] = [];
  const sent: ServerMessage[] = [];
  const job: Job = {
    ...inspectionJob(1, SCRIPT, () => undefined),
    stream: true,
    onLog: (line) => void told.push(line),
    settle: () => void told.push("end"),
  };
  const call = new FleetCall(job, performance.now(), true);
  const dispatcher = new FleetDispatcher({ ...NO_HOST, send: (_machine, message) => void sent.push(message) });
  call.carrier = new FleetJob("job", [call], performance.now());
  dispatcher.run(call);
  dispatcher.onSent(call.carrier);
  dispatcher.onMessage(MACHINE, { kind: "taken", job: "job", start: 1 });
  return { dispatcher, told, sent };
}

const [A, B, C] = ["a", "b", "c"].map((text) => JSON.stringify(["log", text])) as [string, string, string];
const OUTCOME = { ok: true, json: "1" } as const;
const REPLY = { outcome: OUTCOME, cpuMs: 0, waitedMs: 0, wallMs: 0, heapBytes: 0, attempts: 1, dropped: 0 };

test("each line of a call is told once and in its order, also those that come only with its end, or once more", () => {
  const { dispatcher, told } = streamed();
  dispatcher.onMessage(MACHINE, { kind: "log", callNumber: 1, start: 1, at: 0, lines: [A, B] });
  dispatcher.onMessage(MACHINE, { kind: "log", callNumber: 1, start: 1, at: 1, lines: [B] });
  dispatcher.onMessage(MACHINE, {
    kind: "done",
    callNumber: 1,
    start: 1,
    reply: { ...REPLY, logs: `[${A},${B},${C}]` },
  });
  expect(told).toEqual([A, B, C, "end"]);
});

test("what a call writes after its machine has started it again is told, as the machine says nothing twice", () => {
  const { dispatcher, told } = streamed();
  dispatcher.onMessage(MACHINE, { kind: "log", callNumber: 1, start: 1, at: 0, lines: [A, B] });
  dispatcher.onMessage(MACHINE, { kind: "restart", callNumber: 1, start: 1, attempts: 1 });
  dispatcher.onMessage(MACHINE, { kind: "log", callNumber: 1, start: 1, at: 2, lines: [C] });
  expect(told).toEqual([A, B, C]);
});

test("a machine hears that lines have come after which it waits, and of no others", () => {
  const { dispatcher, sent } = streamed();
  dispatcher.onMessage(MACHINE, { kind: "log", callNumber: 1, start: 1, at: 0, lines: [A] });
  expect(sent).toEqual([]);
  dispatcher.onMessage(MACHINE, { kind: "log", callNumber: 1, start: 1, at: 1, lines: [B], isFull: true });
  expect(sent).toEqual([{ kind: "logged", callNumber: 1, job: "job", start: 1 }]);
});

/** A call on its machine; `works` are the promises of processor time that its replies came with. */
function running() {
  const works: (Promise<number> | undefined)[] = [];
  const job: Job = { ...inspectionJob(1, SCRIPT, () => undefined), settle: ({ work }) => void works.push(work) };
  const call = new FleetCall(job, performance.now());
  const dispatcher = new FleetDispatcher(NO_HOST);
  call.carrier = new FleetJob("job", [call], performance.now());
  dispatcher.run(call);
  dispatcher.onSent(call.carrier);
  dispatcher.onMessage(MACHINE, { kind: "taken", job: "job", start: 1 });
  return { dispatcher, works };
}

const CANCELLED = { code: "cancelled", message: "" } as const;
const SPENT = { kind: "spent", callNumber: 1, start: 1, cpuMs: 40 } as const;
const DONE = { kind: "done", callNumber: 1, start: 1, reply: { ...REPLY, logs: "", cpuMs: 7 } } as const;

test("a cancelled call is charged what its machine reports, and is under way until then", async () => {
  const { dispatcher, works } = running();
  dispatcher.end(1, CANCELLED);
  expect(dispatcher.isIdle).toBe(false);
  dispatcher.onMessage("machine-0000000000000002", SPENT);
  expect(dispatcher.isIdle).toBe(false);
  dispatcher.onMessage(MACHINE, SPENT);
  expect(await works[0]).toBe(40);
  expect(dispatcher.isIdle).toBe(true);
});

test("a call whose reply crosses its cancellation is charged by the reply", async () => {
  const { dispatcher, works } = running();
  dispatcher.end(1, CANCELLED);
  dispatcher.onMessage(MACHINE, DONE);
  expect(await works[0]).toBe(7);
});

test("a call that its machine answers early is charged when the machine's work has ended", async () => {
  const { dispatcher, works } = running();
  dispatcher.onMessage(MACHINE, { ...DONE, isWorking: true });
  dispatcher.onMessage(MACHINE, SPENT);
  expect(await works[0]).toBe(40);
});

test("nothing more is expected of a machine that is lost", async () => {
  const { dispatcher, works } = running();
  dispatcher.end(1, CANCELLED);
  dispatcher.onLeave(MACHINE);
  expect(await works[0]).toBe(0);
  expect(dispatcher.isIdle).toBe(true);
});

test("answers that a call had in one turn on its machine are written into its journal", () => {
  const told: (readonly number[])[] = [];
  const replay = {
    plan: () => "",
    onTimed: nothing,
    onLate: nothing,
    onTogether: (at: number, count: number) => void told.push([at, count]),
  };
  const call = new FleetCall({ ...inspectionJob(1, SCRIPT, nothing), replay }, performance.now());
  const carrier = new FleetJob("job", [call], performance.now());
  const dispatcher = new FleetDispatcher({
    ...NO_HOST,
    dispatch: (sent) => {
      sent.carrier = carrier;
      dispatcher.onSent(carrier);
    },
  });
  dispatcher.run(call);
  dispatcher.onMessage(MACHINE, { kind: "taken", job: "job", start: 1 });
  dispatcher.onMessage(MACHINE, { kind: "together", callNumber: 1, start: 1, at: 2, count: 3 });
  // Of a start that another one has followed.
  dispatcher.onMessage(MACHINE, { kind: "together", callNumber: 1, start: 0, at: 5, count: 2 });
  expect(told).toEqual([[2, 3]]);
});

test("a machine is told that a call is watched, and told again where the message may have been lost", () => {
  const sent: [machine: string, message: ServerMessage][] = [];
  const idles: unknown[] = [];
  const job: Job = {
    ...inspectionJob(1, SCRIPT, nothing),
    ask: nothing,
    onIdle: (idle) => void idles.push(idle),
    limits: { ...inspectionJob(1, SCRIPT, nothing).limits, capabilityCalls: 10 },
  };
  const call = new FleetCall(job, performance.now());
  const dispatcher = new FleetDispatcher({
    ...NO_HOST,
    send: (machine, message) => void sent.push([machine, message]),
  });
  call.carrier = new FleetJob("job", [call], performance.now());
  dispatcher.run(call);
  dispatcher.onSent(call.carrier);
  dispatcher.onMessage(MACHINE, { kind: "taken", job: "job", start: 1 });
  const ask = { ...ASK, job: "job", start: 1 } as const;
  dispatcher.onMessage(MACHINE, ask);
  expect(sent).toEqual([]);
  dispatcher.watch(1);
  dispatcher.onMessage(MACHINE, { ...ask, step: 2 });
  const watch = { kind: "watch", callNumber: 1, job: "job", start: 1 } as const;
  expect(sent).toEqual([[MACHINE, watch]]);
  dispatcher.onMessage(MACHINE, ask);
  expect(sent).toEqual([
    [MACHINE, watch],
    [MACHINE, watch],
  ]);
  const other = "machine-0000000000000002";
  dispatcher.onMessage(other, { kind: "taken", job: "job", start: 2 });
  dispatcher.onMessage(other, { ...ask, start: 2, attempt: 2 });
  expect(sent.at(-1)).toEqual([other, { ...watch, start: 2 }]);
  // Of the machine that the call has left, nothing is heard.
  dispatcher.onMessage(MACHINE, { kind: "idle", callNumber: 1, start: 1, asked: 2, delivered: 0, dueInMs: null });
  dispatcher.onMessage(other, { kind: "idle", callNumber: 1, start: 2, asked: 1, delivered: 0, dueInMs: 5 });
  expect(idles).toEqual([{ asked: 1, delivered: 0, dueInMs: 5 }]);
});
