import { openFairPromiseQueue, openPromiseQueue } from "../baselines/promise-queues.ts";
import { Scheduler } from "../../src/kernel/engine/schedule/scheduler.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Effort, Scenario } from "../scenario.ts";

interface SchedulerEffort extends Effort {
  readonly concurrencies: readonly number[];
}

const OURS = "glovebox scheduler";
const TENANTS = 8;
const QUEUE_MS = 60_000;
const tenantOf = (index: number): string => `tenant-${index % TENANTS}`;

/** The queue alone: what a call costs that does nothing, of eight tenants that take turns, with one slot for all. */
export const scheduler: Scenario<SchedulerEffort> = {
  name: "scheduler",
  description: "a call that does nothing, through one slot, with so many waiting: our scheduler against p-queue",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 10, concurrencies: [8] },
  full: { states: ["quiet"], rounds: 7, sampleMs: 300, concurrencies: [1, 64, 256, 4096] },
  async run(context) {
    const plain = openPromiseQueue(1);
    const fair = openFairPromiseQueue(1);
    const subjects: Subject[] = [
      { name: OURS, against: [], run: runInScheduler() },
      { name: "p-queue", against: [OURS], run: (index) => plain.add(() => Promise.resolve(index)) },
      {
        name: "p-queue with our fair queue",
        against: [OURS],
        run: (index) => fair.add(() => Promise.resolve(index), { tenant: tenantOf(index) }),
      },
    ];
    const { concurrencies } = context.size;
    return await measure(context, { subjects, expected: (index) => index, concurrencies });
  },
};

/** A slot is released as a call's end releases it: in a turn of the microtask queue after its start. */
function runInScheduler(): (index: number) => Promise<number> {
  const queue = new Scheduler({ maxQueued: 10_000, concurrency: 1, perTool: Infinity, perTenant: Infinity });
  return (index) =>
    new Promise((resolve, reject) => {
      queue.add(
        { tool: "none", tenant: tenantOf(index), priority: 0, queueMs: QUEUE_MS },
        {
          start: (slot) => {
            void Promise.resolve(index).then((value) => {
              slot.release();
              resolve(value);
            });
          },
          refuse: (refusal) => reject(new Error(refusal.message)),
        },
      );
    });
}
