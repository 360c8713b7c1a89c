import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FairQueue } from "../../../../src/kernel/engine/schedule/fair-queue.ts";
import { Tenant } from "../../../../src/kernel/engine/schedule/flows.ts";
import { Scheduler } from "../../../../src/kernel/engine/schedule/scheduler.ts";
import { Desk, flush, pass } from "./support.ts";
import type { Slot } from "../../../../src/kernel/engine/schedule/queue-entry.ts";
import { run } from "./run.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const request = { tool: "tool", tenant: "tenant", priority: 0, queueMs: 1_000 };

test("a call starts before `run` returns when a slot is free", () => {
  const desk = new Desk();
  desk.call("a");
  expect(desk.started).toEqual(["a"]);
  expect(desk.waitedMs.get("a")).toBe(0);
});

test("a call waits until a slot is free, and is told how long it waited", async () => {
  const desk = new Desk();
  desk.call("a");
  desk.call("b");
  await pass(70);
  expect(desk.started).toEqual(["a"]);
  await desk.finish("a");
  expect(desk.started).toEqual(["a", "b"]);
  expect(desk.waitedMs.get("b")).toBe(70);
});

test("as many calls run at once as there are slots", async () => {
  const desk = new Desk({ concurrency: 3 });
  for (const name of ["a", "b", "c", "d", "e"]) desk.call(name);
  expect(desk.running).toEqual(["a", "b", "c"]);
  await desk.finish("b");
  expect(desk.running).toEqual(["a", "c", "d"]);
});

test("`run` resolves with what `start` resolves with, with and without waiting", async () => {
  const desk = new Desk();
  desk.call("a");
  desk.call("b");
  await desk.finishAll();
  expect(Object.fromEntries(desk.outcomes)).toEqual({ a: "done", b: "done" });
});

test("`run` rejects with what `start` rejects with, and the slot is free again", async () => {
  const desk = new Desk();
  for (const name of ["a", "b", "c"]) desk.call(name);
  await desk.fail("a", "a broke");
  await desk.fail("b", "b broke");
  expect(Object.fromEntries(desk.outcomes)).toEqual({ a: "a broke", b: "b broke" });
  expect(desk.running).toEqual(["c"]);
});

test("work that throws is a rejection, and the slot is free again", async () => {
  const { scheduler } = new Desk();
  const boom = (): Promise<never> => {
    throw new Error("boom");
  };
  await expect(run(scheduler, request, boom)).rejects.toThrow("boom");
  const calls = [run(scheduler, request, boom), run(scheduler, request, boom)];
  expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(scheduler.stats().running).toBe(0);
});

test("ten thousand waiting calls that all throw do not exhaust the stack", async () => {
  const { scheduler } = new Desk();
  const boom = (): Promise<never> => {
    throw new Error("boom");
  };
  const calls = Array.from({ length: 10_000 }, () => run(scheduler, request, boom));
  const outcomes = await Promise.allSettled(calls);
  expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
});

test("the slot of a call is free when its caller hears of the result", async () => {
  const { scheduler } = new Desk();
  await run(scheduler, request, () => Promise.resolve(1));
  expect(scheduler.stats().running).toBe(0);
});

test("a call is refused at once when as many wait as may", async () => {
  const desk = new Desk({ maxQueued: 2 });
  for (const name of ["a", "b", "c", "d"]) desk.call(name);
  await flush();
  expect(desk.outcomes.get("d")).toBe("queue_full");
  expect(desk.refusals.get("d")?.retryAfterMs).toBe(1_000);
  expect(desk.scheduler.stats()).toEqual({ queued: 2, running: 1, maxQueued: 2, concurrency: 1 });
});

test("a call that can start is never refused for a full queue", async () => {
  const desk = new Desk({ maxQueued: 1, concurrency: 2, perTool: 1 });
  desk.call("a");
  desk.call("b");
  desk.call("other tool", { tool: "other" });
  await flush();
  expect(desk.running).toEqual(["a", "other tool"]);
  expect(desk.outcomes.size).toBe(0);
});

test("a queue that holds nothing still lets calls start", async () => {
  const desk = new Desk({ maxQueued: 0 });
  desk.call("a");
  desk.call("b");
  await flush();
  expect(desk.running).toEqual(["a"]);
  expect(desk.outcomes.get("b")).toBe("queue_full");
});

test("the place of a call that has just got its slot is free for another", async () => {
  const { scheduler } = new Desk({ maxQueued: 1 });
  const order: string[] = [];
  const note = (name: string) => (): Promise<number> => Promise.resolve(order.push(name));
  // The third comes when the first has ended, and the second has its slot.
  await Promise.all([
    run(scheduler, request, note("first")),
    run(scheduler, request, note("second")),
    Promise.resolve().then(() => run(scheduler, request, note("third"))),
  ]);
  expect(order).toEqual(["first", "second", "third"]);
});

test("the advice of a full queue follows the rate at which calls end", async () => {
  const desk = new Desk({ maxQueued: 100 });
  for (let index = 0; index < 100; index++) desk.call(`call ${index}`);
  for (let index = 0; index < 50; index++) {
    await pass(100);
    await desk.finish(`call ${index}`);
  }
  for (let index = 100; index < 152; index++) desk.call(`call ${index}`);
  await flush();
  expect(desk.refusals.get("call 151")?.retryAfterMs).toBeGreaterThan(5_000);
  expect(desk.refusals.get("call 151")?.retryAfterMs).toBeLessThan(20_000);
});

test("the advice of a full queue does not suffer from an hour without calls", async () => {
  const desk = new Desk({ maxQueued: 10 });
  for (let index = 0; index < 10; index++) desk.call(`early ${index}`);
  for (let index = 0; index < 10; index++) {
    await pass(100);
    await desk.finish(`early ${index}`);
  }
  await pass(3_600_000);
  for (let index = 0; index < 11; index++) desk.call(`late ${index}`);
  await pass(20);
  desk.call("refused");
  await flush();
  expect(desk.refusals.get("refused")?.retryAfterMs).toBeLessThan(2_000);
});

test("nothing is kept of the tenant of a call that a full queue refused", async () => {
  const lookups = vi.spyOn(FairQueue.prototype, "tenant");
  const desk = new Desk({ maxQueued: 0, perTenant: 1 });
  for (const name of ["a", "b", "c"]) desk.call(name, { tenant: name === "a" ? "first" : "second" });
  const [, second, third] = lookups.mock.results;
  expect(second?.value).toBeInstanceOf(Tenant);
  expect(third?.value).not.toBe(second?.value);
});

test("a call that has waited too long is refused", async () => {
  const desk = new Desk();
  desk.call("a");
  desk.call("b", { queueMs: 100 });
  await pass(99);
  expect(desk.outcomes.size).toBe(0);
  await pass(40);
  expect(desk.outcomes.get("b")).toBe("queue_timeout");
  expect(desk.refusals.get("b")?.queueMs).toBeGreaterThanOrEqual(100);
});

test("a call that was refused for its wait never starts", async () => {
  const desk = new Desk();
  desk.call("a");
  desk.call("b", { queueMs: 100 });
  desk.call("c");
  await pass(200);
  await desk.finishAll();
  expect(desk.started).toEqual(["a", "c"]);
});

test("the deadline of a call does not apply to the time it runs", async () => {
  const desk = new Desk();
  desk.call("a", { queueMs: 50 });
  desk.call("b", { queueMs: 50 });
  await pass(20);
  await desk.finish("a");
  await pass(10_000);
  await desk.finish("b");
  expect(desk.outcomes.get("b")).toBe("done");
});

test("all waiting calls share one timer, which is there only while something waits", async () => {
  const desk = new Desk();
  desk.call("a");
  expect(vi.getTimerCount()).toBe(0);
  for (let index = 0; index < 1_000; index++) desk.call(`waiting ${index}`);
  expect(vi.getTimerCount()).toBe(1);
  await desk.finishAll();
  await pass(20);
  expect(vi.getTimerCount()).toBe(0);
});

test("a closed scheduler refuses new calls and lets those run that wait", async () => {
  const desk = new Desk();
  desk.call("a");
  desk.call("b");
  desk.scheduler.close({ refuseWaiting: false });
  desk.call("c");
  await desk.finishAll();
  expect(Object.fromEntries(desk.outcomes)).toEqual({ a: "done", b: "done", c: "engine_closed" });
});

test("a scheduler that closes at once refuses the waiting calls and leaves the running ones alone", async () => {
  const desk = new Desk();
  for (const name of ["a", "b", "c"]) desk.call(name);
  desk.scheduler.close({ refuseWaiting: true });
  await flush();
  expect(Object.fromEntries(desk.outcomes)).toEqual({ b: "engine_closed", c: "engine_closed" });
  await desk.finish("a");
  expect(desk.outcomes.get("a")).toBe("done");
  expect(desk.started).toEqual(["a"]);
});

test("`idle` resolves at once when nothing runs or waits", async () => {
  await expect(new Desk().scheduler.idle()).resolves.toBeUndefined();
});

test("`idle` resolves when the last call has ended, for everyone who asked", async () => {
  const desk = new Desk();
  desk.call("a");
  desk.call("b");
  let told = 0;
  for (let index = 0; index < 3; index++) void desk.scheduler.idle().then(() => told++);
  await desk.finish("a");
  expect(told).toBe(0);
  await desk.finish("b");
  expect(told).toBe(3);
});

test("an entry that throws at its start costs neither its slot nor the others' turns", async () => {
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const desk = new Desk();
  const boom = (): void => {
    throw new Error("boom");
  };
  desk.scheduler.add(request, { start: boom, refuse: () => undefined });
  desk.call("a");
  desk.scheduler.add(request, { start: boom, refuse: () => undefined });
  desk.call("b");
  await desk.finish("a");
  await desk.finish("b");
  expect(desk.started).toEqual(["a", "b"]);
  expect(desk.scheduler.stats()).toMatchObject({ queued: 0, running: 0 });
  expect(warned).toHaveBeenCalledTimes(2);
  warned.mockRestore();
});

test("a slot that is released in its own start goes to the next, however many there are", () => {
  const { scheduler } = new Desk();
  let held: Slot | undefined;
  let started = 0;
  scheduler.add(request, { start: (slot) => (held = slot), refuse: () => undefined });
  for (let index = 0; index < 50_000; index++) {
    const start = (slot: Slot) => {
      started++;
      slot.release();
      slot.release();
    };
    scheduler.add(request, { start, refuse: () => undefined });
  }
  held?.release();
  expect(started).toBe(50_000);
  expect(scheduler.stats()).toMatchObject({ queued: 0, running: 0 });
});

test("a scheduler without a clock of its own measures with the process's", async () => {
  const scheduler = new Scheduler({ maxQueued: 1, concurrency: 1, perTool: 1, perTenant: 1 });
  const first = Promise.withResolvers<number>();
  const calls = [run(scheduler, request, () => first.promise), run(scheduler, request, (ms) => Promise.resolve(ms))];
  await pass(30);
  first.resolve(1);
  expect(await Promise.all(calls)).toEqual([1, 30]);
});

test.each(["maxQueued", "concurrency", "perTool", "perTenant"])("a %s that is no count is not accepted", (name) => {
  for (const value of [-1, 1.5, NaN]) expect(() => new Desk({ [name]: value })).toThrow(name);
});

test("a wait is counted from its beginning, whatever the clock says then", async () => {
  const desk = new Desk();
  await pass(1_000);
  desk.call("a");
  desk.call("late", { queueMs: 50 });
  desk.call("b");
  await pass(70);
  await desk.finish("a");
  expect(desk.waitedMs.get("b")).toBe(70);
  expect(desk.refusals.get("late")?.queueMs).toBeLessThanOrEqual(70);
  expect(desk.refusals.get("late")?.message).toMatch(/waited \d\d ms/);
});

test("`idle` waits for what runs when the last waiting call is refused, and can be asked again", async () => {
  const desk = new Desk();
  for (const round of ["1", "2"]) {
    let isIdle = false;
    desk.call(`running ${round}`);
    desk.call(`waiting ${round}`, { queueMs: 50 });
    void desk.scheduler.idle().then(() => (isIdle = true));
    await pass(100);
    expect([desk.outcomes.get(`waiting ${round}`), isIdle]).toEqual(["queue_timeout", false]);
    await desk.finish(`running ${round}`);
    expect(isIdle).toBe(true);
  }
});

test("a lent slot counts as running until it is released, once, and takes no slot from others", () => {
  const desk = new Desk();
  const slots = [desk.scheduler.lend(), desk.scheduler.lend()];
  expect(desk.scheduler.stats().running).toBe(2);
  desk.call("a");
  expect([desk.running, desk.scheduler.stats().running]).toEqual([["a"], 3]);
  slots[0]?.release();
  slots[0]?.release();
  expect(desk.scheduler.stats().running).toBe(2);
});

test("a start that releases its slot has returned before the next one begins", () => {
  const { scheduler } = new Desk();
  let held: Slot | undefined;
  let depth = 0;
  let deepest = 0;
  scheduler.add(request, { start: (slot) => (held = slot), refuse: () => undefined });
  for (let index = 0; index < 3; index++) {
    const start = (slot: Slot) => {
      deepest = Math.max(deepest, ++depth);
      slot.release();
      depth--;
    };
    scheduler.add(request, { start, refuse: () => undefined });
  }
  held?.release();
  expect(deepest).toBe(1);
});

test("other limits start what waited for the old ones, cap what comes, and end nothing", async () => {
  const desk = new Desk({ concurrency: 4, perTenant: 1, maxQueued: 3 });
  for (const name of ["a1", "a2", "a3"]) desk.call(name, { tenant: "a" });
  expect(desk.running).toEqual(["a1"]);
  desk.scheduler.use({ concurrency: 4, perTenant: 2, perTool: Infinity, maxQueued: 2 });
  expect(desk.running).toEqual(["a1", "a2"]);
  desk.scheduler.use({ concurrency: 1, perTenant: Infinity, perTool: 1, maxQueued: 2 });
  desk.call("b");
  desk.call("too many");
  await flush();
  expect(desk.outcomes.get("too many")).toBe("queue_full");
  for (const name of ["a1", "a2", "a3"]) await desk.finish(name);
  expect(desk.started).toEqual(["a1", "a2", "a3", "b"]);
  expect(desk.scheduler.stats()).toEqual({ queued: 0, running: 1, maxQueued: 2, concurrency: 1 });
});

test("a cap that comes while a tenant's calls run is reached by those that come", async () => {
  const desk = new Desk({ concurrency: 9 });
  desk.call("before", { tenant: "a" });
  desk.scheduler.use({ concurrency: 9, perTenant: 1, perTool: Infinity, maxQueued: 9 });
  for (const name of ["first", "second"]) desk.call(name, { tenant: "a" });
  expect(desk.running).toEqual(["before", "first"]);
  await desk.finish("before");
  expect(desk.running).toEqual(["first"]);
  await desk.finish("first");
  expect(desk.running).toEqual(["second"]);
});
