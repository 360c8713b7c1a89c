import { expect, onTestFinished, test, vi } from "vitest";
import { HOLDER_LOST_MS } from "../../../../src/kernel/store/calls/ledger.ts";
import { StoreError } from "../../../../src/kernel/base/errors.ts";
import { Resumer, type ResumerParts } from "../../../../src/kernel/engine/durable/resumer.ts";
import type { ClaimedCall } from "../../../../src/kernel/store/calls/durable/durable-call.ts";
import type { DurableAnswer, DurableStep } from "../../../../src/kernel/store/calls/durable/durable-step.ts";

const UNDOES: ClaimedCall = {
  id: "c_1.undo",
  leg: 1,
  callId: "1.undo",
  tool: "trip",
  tenant: "",
  key: null,
  parent: null,
  createdMs: 0,
  expiresMs: 0,
  readyForMs: 0,
  record: '{"format":"glovebox-durable/1","options":{}}',
  script: null,
  runs: "",
  journal: "",
  plan: "",
  waits: [],
  heardWaits: 0,
};

const unused = (): never => {
  throw new Error("it is not asked for");
};
const PARTS: ResumerParts = {
  take: unused,
  holder: "a",
  registry: { get: () => undefined },
  events: { emit: () => undefined },
  takesAll: true,
  atOnce: 64,
  pin: unused,
  program: unused,
  undo: unused,
  readmit: () => ({ kind: "admitted", options: {} }),
  run: unused,
  onEnd: unused,
};

// Found by the simulation: the call was held for ever by an engine that did not know of it, and lived on.
test("a claim whose answer was lost is not held by this engine: it claims as another holder from then on", async () => {
  const holders: string[] = [];
  const second = Promise.withResolvers<void>();
  const take = (step: DurableStep): Promise<DurableAnswer> => {
    if (step.kind === "due") return Promise.resolve({ kind: "ready", ids: ["c_1"], wakeMs: 0, lost: [] });
    if (step.kind !== "claim") return Promise.resolve({ kind: "done", call: null });
    holders.push(step.holder);
    if (holders.length > 1) second.resolve();
    return Promise.reject(new StoreError("no answer", { isUnanswered: true }));
  };
  const resumer = new Resumer({ ...PARTS, take });
  resumer.look();
  await second.promise;
  await resumer.close();
  expect(holders[0]).toBe("a");
  expect(new Set(holders).size).toBe(holders.length);
});

test("a call that undoes is released, and not held, where the store cannot say what the other has done", async () => {
  const released = Promise.withResolvers<DurableStep>();
  const answerOf = (step: DurableStep): DurableAnswer => {
    if (step.kind === "due") return { kind: "ready", ids: ["c_1.undo"], wakeMs: null, lost: [] };
    if (step.kind === "claim") return { kind: "claimed", call: UNDOES };
    if (step.kind === "release") released.resolve(step);
    return { kind: "done", call: null };
  };
  const undo = () => Promise.reject(new StoreError("the store is busy"));
  const resumer = new Resumer({ ...PARTS, take: (step) => Promise.resolve(answerOf(step)), undo });
  resumer.look();
  expect(await released.promise).toMatchObject({ kind: "release", id: "c_1.undo", leg: 1 });
  await resumer.close();
});

test("a call is claimed, and released, until a server is there that knows its key: then at once", async () => {
  const done = Promise.withResolvers<DurableStep>();
  const released = Promise.withResolvers<unknown>();
  let server: "later" | { readonly kind: "refused"; readonly code: "unauthorized"; readonly message: string } = "later";
  const answerOf = (step: DurableStep): DurableAnswer => {
    if (step.kind === "due") return { kind: "ready", ids: ["c_1"], wakeMs: null, lost: [] };
    if (step.kind === "claim") return { kind: "claimed", call: { ...UNDOES, id: "c_1", key: "ci" } };
    if (step.kind === "release") released.resolve(step);
    if (step.kind === "end") done.resolve(step);
    return { kind: "done", call: null };
  };
  const take = (step: DurableStep) => Promise.resolve(answerOf(step));
  const resumer = new Resumer({ ...PARTS, take, readmit: () => server, onEnd: () => undefined });
  resumer.look();
  await released.promise;
  server = { kind: "refused", code: "unauthorized", message: "the key has been removed" };
  resumer.lookAgain();
  expect(await done.promise).toMatchObject({
    isFailed: true,
    result: expect.stringContaining("unauthorized") as string,
  });
  await resumer.close();
});

test("a call whose runs have used twenty times its processor time together ends", async () => {
  const ended = Promise.withResolvers<DurableStep>();
  const record = JSON.stringify({ format: "glovebox-durable/1", options: {}, limits: { cpuMs: 50 } });
  const call: ClaimedCall = { ...UNDOES, id: "c_1", record, runs: '{"run":null,"program":null,"cpuMs":1000.5}' };
  const answerOf = (step: DurableStep): DurableAnswer => {
    if (step.kind === "due") return { kind: "ready", ids: ["c_1"], wakeMs: null, lost: [] };
    if (step.kind === "claim") return { kind: "claimed", call };
    if (step.kind === "end") ended.resolve(step);
    return { kind: "done", call: null };
  };
  const take = (step: DurableStep) => Promise.resolve(answerOf(step));
  const resumer = new Resumer({ ...PARTS, take, onEnd: () => undefined });
  resumer.look();
  expect(await ended.promise).toMatchObject({ result: expect.stringContaining('"code":"cpu_limit"') as string });
  await resumer.close();
});

test("an engine for which nothing waits looks for calls of others before their process counts as lost", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let looks = 0;
  const take = (): Promise<DurableAnswer> => {
    looks++;
    return Promise.resolve({ kind: "ready", ids: [], wakeMs: null, lost: [] });
  };
  const resumer = new Resumer({ ...PARTS, take });
  resumer.look();
  await vi.advanceTimersByTimeAsync(HOLDER_LOST_MS - 1);
  await resumer.close();
  expect(looks).toBeGreaterThan(1);
});
