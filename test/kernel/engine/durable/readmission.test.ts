import { expect, onTestFinished, test, vi } from "vitest";
import type { DurableRecord } from "../../../../src/kernel/engine/durable/durable-record.ts";
import { narrowedBy, Readmissions } from "../../../../src/kernel/engine/durable/readmission.ts";
import type { ClaimedCall } from "../../../../src/kernel/store/calls/durable/durable-call.ts";

const CALL = { key: "ci", tenant: "acme", tool: "pay", parent: null } as ClaimedCall;
const RECORD = { options: { origin: { key: "ci", isKeyChecked: true } } } as DurableRecord;

test("a call of a key waits for the server as its engine starts, and goes on where none comes", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const readmissions = new Readmissions();
  expect(readmissions.of(CALL, RECORD)).toBe("later");
  expect(readmissions.of({ ...CALL, key: null }, RECORD)).toEqual({ kind: "admitted", options: {} });
  vi.advanceTimersByTime(10_001);
  expect(readmissions.of(CALL, RECORD)).toEqual({ kind: "admitted", options: {} });
});

test.each([
  [undefined, undefined, undefined],
  [["pay"], undefined, ["pay"]],
  [undefined, ["pay"], ["pay"]],
  [
    ["pay", "crm.*"],
    ["crm.list", "p*"],
    ["pay", "crm.list"],
  ],
  [["pay"], ["look"], []],
])("of tools %j then and %j now, a call may use %j", (then, now, both) => {
  const made = then === undefined ? {} : { tools: then };
  expect(narrowedBy(made, now === undefined ? {} : { tools: now }).tools).toEqual(both);
});
