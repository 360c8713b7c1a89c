import { expect, test } from "vitest";
import type { CapabilityCall, CallReply } from "../../../src/kernel/executor/executor.ts";
import type { FleetLimits, MachineMessage, Resumption } from "../../../src/fleet/wire/messages.ts";
import type { CallEnd, KeptCall } from "../../../src/fleet/machine/keyed-calls.ts";
import { MachineCall } from "../../../src/fleet/machine/machine-call.ts";
import { NO_CHECKS, type ToolScript } from "../../../src/kernel/base/protocol/script.ts";

const SCRIPT: ToolScript = {
  key: "k",
  name: "tool",
  version: "1.0.0",
  runtime: "javascript",
  isolation: "instance",
  memoryMb: 64,
  config: "null",
  checks: NO_CHECKS,
  contract: null,
  text: "",
};
const LIMITS: FleetLimits = {
  cpuMs: 1,
  outputBytes: 1_000,
  logBytes: 1,
  capabilityCalls: 1,
  capabilityBytes: 1,
  wallMs: 1,
  queueMs: 1,
};
const KEPT: KeptCall = { server: "s", claim: { digest: "d", holder: "h", tool: "t" }, mark: "the tool's mark" };

const asked = (step: number): CapabilityCall => ({
  step,
  attempt: 1,
  nowMs: 0,
  capability: "kv",
  method: "set",
  args: "{}",
});

function reply(outcome: CallReply["outcome"], attempts = 1): CallReply {
  return { outcome, cpuMs: 0, waitedMs: 0, wallMs: 0, heapBytes: 0, attempts, logs: "", dropped: 0 };
}

const done = reply({ ok: true, json: "1" });
const lost = (attempts: number) => reply({ ok: false, failure: { code: "executor_lost", message: "lost" } }, attempts);

/** A call with a key, what it says to its server, and what is said of its end. */
function open(resumption?: Resumption, kept: KeptCall | null = KEPT) {
  const sent: MachineMessage["kind"][] = [];
  const ends: (CallEnd | null)[] = [];
  const alone = Promise.withResolvers<void>();
  const data = {
    callNumber: 1,
    script: 0,
    limits: 0,
    tenant: "",
    callId: "id",
    args: "{}",
    seed: "",
    nowMs: 0,
    stream: false,
  };
  const coming = { data, script: SCRIPT, limits: LIMITS, resumption, kept };
  const call = new MachineCall(1, coming, {
    id: "job",
    start: 1,
    send: ({ kind }) => void sent.push(kind),
    onWait: () => undefined,
    refusedForMs: () => 0,
    onOrphanRequest: () => alone.resolve(),
    onEnd: (_call, end) => void ends.push(end),
  });
  const answer = (step: number): void => call.respond(1, step, { kind: "value", nowMs: 0, json: "1" });
  return { call, sent, ends, answer, isAlone: alone.promise };
}

test("a call with a key leaves its reply, the mark of its tool and what its reader has to know", () => {
  const { call, sent, ends } = open();
  call.settle(done);
  const left = { callId: "id", tool: KEPT.mark, outputBytes: 1_000, reply: done };
  expect(ends).toEqual([{ kind: "left", left }]);
  expect(sent).toEqual(["done"]);
});

test("a call without one leaves nothing", () => {
  const { call, ends } = open(undefined, null);
  expect(call.orphan()).toBe(false);
  call.settle(done);
  expect(ends).toEqual([null]);
});

test("what was asked and answered has been done, and the end is left", () => {
  const { call, ends, answer } = open();
  call.ask(asked(1), () => undefined);
  answer(1);
  call.settle(done);
  expect(ends).toMatchObject([{ kind: "left" }]);
});

test("of a call that ends without an answer to what it asked nobody else knows what it has done", () => {
  const { call, ends } = open();
  call.ask(asked(1), () => undefined);
  expect(call.orphan()).toBe(false);
  call.settle(done);
  expect(ends).toEqual([null]);
});

test("answers that the call had in one turn are told to its server, and planned for its next start", () => {
  const { call, sent, answer } = open();
  for (const step of [1, 2]) call.ask(asked(step), () => undefined);
  for (const step of [1, 2]) answer(step);
  call.onTogether(0, 2);
  expect(sent).toEqual(["ask", "ask", "together"]);
  expect(JSON.parse(call.plan())).toMatchObject({ together: [[0, 2]] });
});

test("answers that shared a turn on another machine do so on this one", () => {
  const together = [[1, 2]];
  const plan = JSON.stringify({ asked: 3, responses: [1, 2, 3].map((step) => [step, 1]), late: [], together });
  const { call } = open({ callNumber: 1, attempts: 1, asked: 3, plan });
  expect(JSON.parse(call.plan())).toMatchObject({ together });
});

test("a call whose server is gone asks nobody, and what it asked for at its end was not done", async () => {
  const { call, sent, ends, isAlone } = open();
  expect(call.orphan()).toBe(true);
  call.ask(asked(1), () => undefined);
  call.settle(done);
  await isAlone;
  expect(sent).toEqual(["done"]);
  expect(ends).toEqual([null]);
});

test("a call that was started again has left nothing out only where it never asked", () => {
  const silent = open();
  silent.call.settle(reply({ ok: true, json: "1" }, 2));
  expect(silent.ends).toMatchObject([{ kind: "left", left: { reply: { attempts: 2 } } }]);
  const resumed = open({ callNumber: 1, attempts: 1, asked: 1, plan: "" });
  resumed.call.settle(done);
  expect(resumed.ends).toEqual([null]);
});

test("a call that failed in a way that may pass is undone where it never asked, and else its server's to judge", () => {
  for (const attempts of [0, 1]) {
    const { call, ends } = open();
    call.settle(lost(attempts));
    expect(ends).toEqual([{ kind: "undone" }]);
  }
  const { call, ends, answer } = open();
  call.ask(asked(1), () => undefined);
  answer(1);
  call.settle(lost(1));
  expect(ends).toEqual([null]);
});

test("a call that is cancelled leaves nothing", () => {
  const { call, ends } = open();
  call.end();
  call.settle(done);
  expect(ends).toEqual([null]);
});
