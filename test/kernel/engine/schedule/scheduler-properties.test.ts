import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Scheduler } from "../../../../src/kernel/engine/schedule/scheduler.ts";
import { Refusal } from "../../../../src/kernel/engine/schedule/queue-entry.ts";
import { flush, pass } from "./support.ts";
import { run } from "./run.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const arrival = fc.record({
  tool: fc.constantFrom("x", "y", "z"),
  tenant: fc.constantFrom("a", "b", "c"),
  priority: fc.integer({ min: -2, max: 2 }),
  queueMs: fc.oneof(fc.constant(60_000), fc.integer({ min: 1, max: 200 })),
  turns: fc.nat(3),
  isCancelled: fc.boolean(),
});

const scenario = fc.record({
  caps: fc.record({
    maxQueued: fc.oneof(fc.constant(1_000), fc.nat(10)),
    concurrency: fc.integer({ min: 1, max: 5 }),
    perTool: fc.constantFrom(1, 2, Infinity),
    perTenant: fc.constantFrom(1, 2, Infinity),
  }),
  bursts: fc.array(fc.array(arrival, { maxLength: 12 }), { maxLength: 8 }),
});

type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

/** Counts what runs at once, by any name, and remembers the most. */
class Peaks {
  readonly most = new Map<string, number>();
  readonly #now = new Map<string, number>();

  change(names: readonly string[], change: 1 | -1): void {
    for (const name of names) {
      const now = (this.#now.get(name) ?? 0) + change;
      this.#now.set(name, now);
      this.most.set(name, Math.max(now, this.most.get(name) ?? 0));
    }
  }
}

async function play({ caps, bursts }: Scenario) {
  const scheduler = new Scheduler({ ...caps, clock: () => performance.now() });
  const peaks = new Peaks();
  const starts: { id: number; tenant: string; priority: number }[] = [];
  const results: Promise<unknown>[] = [];
  let mostQueued = 0;
  for (const burst of bursts) {
    const controllers: AbortController[] = [];
    for (const { tool, tenant, priority, queueMs, turns, isCancelled } of burst) {
      const id = results.length;
      const controller = new AbortController();
      const names = ["all", `tool ${tool}`, `tenant ${tenant}`];
      const start = async (): Promise<number> => {
        starts.push({ id, tenant, priority });
        peaks.change(names, 1);
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        if (turns === 3) await new Promise((resolve) => setTimeout(resolve, 60));
        peaks.change(names, -1);
        return id;
      };
      results.push(run(scheduler, { tool, tenant, priority, queueMs, signal: controller.signal }, start));
      if (isCancelled) controllers.push(controller);
      mostQueued = Math.max(mostQueued, scheduler.stats().queued);
    }
    for (const controller of controllers) controller.abort();
    await pass(25);
  }
  for (let turn = 0; turn < 250 && scheduler.stats().running + scheduler.stats().queued > 0; turn++) await pass(60);
  await flush();
  return { scheduler, peaks, starts, results, mostQueued };
}

test("no call is lost, none runs twice, and one that was refused never runs", async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async (one) => {
      const { starts, results, scheduler } = await play(one);
      const started = new Set(starts.map(({ id }) => id));
      expect(started.size).toBe(starts.length);
      const outcomes = await Promise.all(results);
      outcomes.forEach((outcome, id) => {
        if (outcome instanceof Refusal) expect(started.has(id)).toBe(false);
        else expect(outcome).toBe(id);
      });
      expect(scheduler.stats()).toMatchObject({ running: 0, queued: 0 });
      await scheduler.idle();
    }),
    { numRuns: 150 },
  );
});

test("neither the slots, nor a cap, nor the length of the queue is ever exceeded", async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async (one) => {
      const { peaks, mostQueued } = await play(one);
      expect(mostQueued).toBeLessThanOrEqual(one.caps.maxQueued);
      for (const [name, most] of peaks.most) {
        expect(most).toBeLessThanOrEqual(one.caps.concurrency);
        if (name.startsWith("tool")) expect(most).toBeLessThanOrEqual(one.caps.perTool);
        if (name.startsWith("tenant")) expect(most).toBeLessThanOrEqual(one.caps.perTenant);
      }
    }),
    { numRuns: 150 },
  );
});

test("calls of one tenant and priority start in the order they came, where no tool is capped", async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ caps, bursts }) => {
      const { starts } = await play({ caps: { ...caps, perTool: Infinity }, bursts });
      const last = new Map<string, number>();
      for (const { id, tenant, priority } of starts) {
        const flow = `${tenant}/${priority}`;
        expect(id).toBeGreaterThan(last.get(flow) ?? -1);
        last.set(flow, id);
      }
    }),
    { numRuns: 150 },
  );
});
