import { expect, test } from "vitest";
import type { Job } from "../../../src/executor/executor.ts";
import { FleetCall } from "../../../src/executor/queue/fleet-call.ts";
import { FleetDispatcher } from "../../../src/executor/queue/fleet-dispatcher.ts";
import { FleetJob } from "../../../src/executor/queue/fleet-job.ts";
import { inspectionJob } from "../../../src/executor/queue/inspection-job.ts";

const MACHINE = "machine-0000000000000001";
/** More than a call may wait, and less than it may wait and take. */
const LATER_MS = 32_000;

/** A call whose machine has been missed. */
function lostCall(): { readonly dispatcher: FleetDispatcher; readonly ends: string[] } {
  const ends: string[] = [];
  const script = {
    key: "1",
    name: "a",
    version: "1",
    runtime: "javascript",
    isolation: "instance",
    memoryMb: 8,
  } as const;
  const job: Job = {
    ...inspectionJob(1, { ...script, config: "null", contract: null, text: "" }, () => undefined),
    settle: ({ outcome }) => void ends.push(outcome.ok ? "ok" : outcome.failure.code),
  };
  const call = new FleetCall(job, performance.now(), true);
  const carrier = new FleetJob("job", [call], performance.now());
  const nothing = (): void => undefined;
  const dispatcher = new FleetDispatcher({
    tell: nothing,
    send: nothing,
    dispatch: (sent) => {
      sent.carrier = carrier;
      dispatcher.onSent(carrier);
    },
    release: nothing,
    withdraw: nothing,
    notePace: nothing,
    noteRefusal: nothing,
  });
  dispatcher.run(call);
  dispatcher.onMessage(MACHINE, { kind: "taken", job: "job", start: 1 });
  dispatcher.onLeave(MACHINE);
  return { dispatcher, ends };
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
  heard.dispatcher.onMessage(MACHINE, { kind: "log", run: 1, start: 1, line: "[]" });
  for (const { dispatcher, ends } of [back, heard]) {
    dispatcher.endOverdue(performance.now() + LATER_MS);
    expect(ends).toEqual([]);
  }
});
