import { vi } from "vitest";
import type { ScheduleRequest } from "../../../../src/kernel/engine/schedule/scheduler.ts";
import { Scheduler, type SchedulerOptions } from "../../../../src/kernel/engine/schedule/scheduler.ts";
import { Refusal } from "../../../../src/kernel/engine/schedule/queue-entry.ts";
import { run } from "./run.ts";

// Taken before any test replaces the timers.
const { setImmediate: realSetImmediate } = globalThis;

/** Lets everything happen that needs no time to pass. */
export function flush(): Promise<void> {
  return new Promise((resolve) => realSetImmediate(resolve));
}

/** Lets fake time pass, and everything happen that follows from it. */
export async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  await flush();
}

/** A scheduler under fake timers, and calls that end when the test says so. */
export class Desk {
  readonly scheduler: Scheduler;
  /** The names of the calls that started, in order. */
  readonly started: string[] = [];
  /** How long each call waited before it started. */
  readonly waitedMs = new Map<string, number>();
  /** What became of each call that settled: its value, its error's message, or the code of its refusal. */
  readonly outcomes = new Map<string, string>();
  readonly refusals = new Map<string, Refusal>();
  readonly #open = new Map<string, { resolve: (value: string) => void; reject: (error: Error) => void }>();

  constructor(options: Partial<SchedulerOptions> = {}) {
    this.scheduler = new Scheduler({
      maxQueued: 1_000_000,
      concurrency: 1,
      perTool: Infinity,
      perTenant: Infinity,
      clock: () => performance.now(),
      ...options,
    });
  }

  call(name: string, request: Partial<ScheduleRequest> = {}): void {
    const whole = { tool: "tool", tenant: "tenant", priority: 0, queueMs: 30_000, ...request };
    const start = (queueMs: number): Promise<string> => {
      this.started.push(name);
      this.waitedMs.set(name, queueMs);
      return new Promise((resolve, reject) => this.#open.set(name, { resolve, reject }));
    };
    void run(this.scheduler, whole, start).then(
      (value) => {
        this.outcomes.set(name, value instanceof Refusal ? value.code : value);
        if (value instanceof Refusal) this.refusals.set(name, value);
      },
      (error: unknown) => this.outcomes.set(name, error instanceof Error ? error.message : "not an error"),
    );
  }

  get running(): string[] {
    return [...this.#open.keys()];
  }

  async finish(name: string): Promise<void> {
    this.#take(name).resolve("done");
    await flush();
  }

  async fail(name: string, message: string): Promise<void> {
    this.#take(name).reject(new Error(message));
    await flush();
  }

  /** Finishes the oldest running call again and again until nothing runs. */
  async finishAll(): Promise<void> {
    for (let name = this.running[0]; name !== undefined; name = this.running[0]) await this.finish(name);
  }

  #take(name: string): { resolve: (value: string) => void; reject: (error: Error) => void } {
    const open = this.#open.get(name);
    if (open === undefined) throw new Error(`${name} is not running`);
    this.#open.delete(name);
    return open;
  }
}
