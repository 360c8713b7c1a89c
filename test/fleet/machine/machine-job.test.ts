import { expect, test } from "vitest";
import { type JobHost, MachineJob, type PulledJob } from "../../../src/fleet/machine/machine-job.ts";
import type { MachineMessage } from "../../../src/fleet/wire/messages.ts";

const nothing = (): void => undefined;

/** A job whose tool's code is still on its way to the machine. */
function unbegun() {
  const sent: MachineMessage[] = [];
  const pulled = {
    bull: { id: "job", attemptsStarted: 1 },
    data: { v: 2, server: "server-1", scripts: [{}], limits: [{}], calls: [{ callNumber: 1, script: 0, limits: 0 }] },
  };
  const host = {
    slots: { enter: nothing },
    scripts: { use: () => new Promise(nothing) },
    send: (_server: string, message: MachineMessage) => void sent.push(message),
    sendSoon: nothing,
  };
  const job = new MachineJob(pulled as unknown as PulledJob, host as unknown as JobHost);
  void job.begin();
  return { job, sent };
}

test("a call that is cancelled before it starts has used no processor time, and its server hears so", () => {
  const { job, sent } = unbegun();
  job.cancel(1);
  expect(sent).toEqual([{ kind: "spent", callNumber: 1, start: 1, cpuMs: 0 }]);
});
