import type { Refusal } from "../../../../src/kernel/engine/schedule/queue-entry.ts";
import type { ScheduleRequest, Scheduler } from "../../../../src/kernel/engine/schedule/scheduler.ts";

/**
 * Schedules a piece of work that is a promise: its slot is free again when that settles. Resolves or rejects like it,
 * or resolves with a `Refusal` when the work did not start.
 */
export function run<T>(
  scheduler: Scheduler,
  request: ScheduleRequest,
  work: (queueMs: number) => Promise<T>,
): Promise<T | Refusal> {
  return new Promise((resolve, reject) => {
    scheduler.add(request, {
      start(slot, queueMs) {
        const settled = safely(work, queueMs);
        const release = () => slot.release();
        void settled.then(release, release);
        settled.then(resolve, reject);
      },
      refuse: resolve,
    });
  });
}

function safely<T>(work: (queueMs: number) => Promise<T>, queueMs: number): Promise<T> {
  try {
    return work(queueMs);
  } catch (error) {
    return Promise.reject(error);
  }
}
