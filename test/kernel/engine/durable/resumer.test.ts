import { expect, test } from "vitest";
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
};

test("a call that undoes is released, and not held, where the store cannot say what the other has done", async () => {
  const released = Promise.withResolvers<DurableStep>();
  const answerOf = (step: DurableStep): DurableAnswer => {
    if (step.kind === "due") return { kind: "ready", ids: ["c_1.undo"], wakeMs: null, lost: [] };
    if (step.kind === "claim") return { kind: "claimed", call: UNDOES };
    if (step.kind === "release") released.resolve(step);
    return { kind: "done", call: null };
  };
  const unused = (): never => {
    throw new Error("it is not asked for");
  };
  const parts: ResumerParts = {
    take: (step) => Promise.resolve(answerOf(step)),
    holder: "a",
    registry: { get: () => undefined },
    events: { emit: () => undefined },
    takesAll: true,
    atOnce: 64,
    pin: unused,
    program: unused,
    undo: () => Promise.reject(new StoreError("the store is busy")),
    run: unused,
  };
  const resumer = new Resumer(parts);
  resumer.look();
  expect(await released.promise).toMatchObject({ kind: "release", id: "c_1.undo", leg: 1 });
  await resumer.close();
});
