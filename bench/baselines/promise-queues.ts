import PQueue, { type Queue, type QueueAddOptions } from "p-queue";
import { FairQueue } from "../../src/kernel/engine/schedule/fair-queue.ts";
import { clampPriority, Waiting } from "../../src/kernel/engine/schedule/flows.ts";

type Run = () => Promise<unknown>;

interface FairOptions extends QueueAddOptions {
  readonly tenant: string;
}

const NO_ENTRY = { start: () => {}, refuse: () => {} };

/** p-queue as it comes. */
export function openPromiseQueue(concurrency: number): PQueue {
  return new PQueue({ concurrency });
}

/** p-queue with the engine's own order: turns between tenants within a priority. */
export function openFairPromiseQueue(concurrency: number): PQueue<FairOrder, FairOptions> {
  return new PQueue({ concurrency, queueClass: FairOrder });
}

class Task extends Waiting {
  run: Run = () => Promise.resolve();
}

/** The fair queue as p-queue's order. p-queue counts what runs, so a slot is given back as soon as it is taken. */
class FairOrder implements Queue<Run, FairOptions> {
  readonly #fair = new FairQueue({ concurrency: Infinity, perTenant: Infinity, clock: () => performance.now() });
  readonly #cap = this.#fair.capOf("", Infinity);

  get size(): number {
    return this.#fair.waiting;
  }

  enqueue(run: Run, { tenant = "", priority = 0 }: Partial<FairOptions> = {}): void {
    const flow = this.#fair.tenant(tenant).flow(clampPriority(priority));
    const task = new Task(NO_ENTRY, flow, this.#cap, undefined, performance.now(), Infinity);
    task.run = run;
    this.#fair.add(task);
  }

  dequeue(): Run | undefined {
    const task = this.#fair.take();
    if (!(task instanceof Task)) return undefined;
    this.#fair.release(task.cap, task.flow.tenant);
    return task.run;
  }

  filter(): Run[] {
    return [];
  }

  setPriority(): void {
    throw new Error("the engine's queue changes no priorities");
  }

  remove(): void {
    throw new Error("the engine's queue removes a call by itself, not by an id");
  }
}
