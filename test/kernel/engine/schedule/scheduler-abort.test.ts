import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Desk, flush, pass } from "./support.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function listeners(signal: AbortSignal): number {
  return getEventListeners(signal, "abort").length;
}

test("a call whose signal is aborted already never starts", async () => {
  const desk = new Desk();
  desk.call("a", { signal: AbortSignal.abort() });
  await flush();
  expect(desk.started).toEqual([]);
  expect(desk.outcomes.get("a")).toBe("cancelled");
});

test("a waiting call is cancelled by its signal and never starts", async () => {
  const desk = new Desk();
  const controller = new AbortController();
  desk.call("a");
  desk.call("b", { signal: controller.signal });
  desk.call("c");
  await pass(50);
  controller.abort();
  await flush();
  expect(desk.outcomes.get("b")).toBe("cancelled");
  expect(desk.refusals.get("b")?.queueMs).toBe(50);
  await desk.finishAll();
  expect(desk.started).toEqual(["a", "c"]);
});

test("a call that has started is not touched by its signal", async () => {
  const desk = new Desk();
  const controller = new AbortController();
  desk.call("a", { signal: controller.signal });
  desk.call("b", { signal: controller.signal });
  await desk.finish("a");
  controller.abort();
  await flush();
  expect(desk.running).toEqual(["b"]);
  expect(desk.outcomes.has("b")).toBe(false);
});

test("100,000 calls that share a signal put one listener on it while they wait, and none afterwards", async () => {
  const desk = new Desk();
  const { signal } = new AbortController();
  desk.call("a", { signal });
  expect(listeners(signal)).toBe(0);
  for (let index = 0; index < 100_000; index++) desk.call(`${index}`, { signal, queueMs: 100 });
  expect(listeners(signal)).toBe(1);
  await pass(200);
  expect(desk.outcomes.size).toBe(100_000);
  expect(listeners(signal)).toBe(0);
});

test("one abort cancels all waiting calls that share the signal, and no others", async () => {
  const desk = new Desk();
  const controller = new AbortController();
  desk.call("a");
  for (const name of ["b", "c", "d"]) desk.call(name, { signal: controller.signal });
  desk.call("e", { signal: new AbortController().signal });
  controller.abort();
  await flush();
  expect([...desk.outcomes.keys()]).toEqual(["b", "c", "d"]);
  expect(desk.scheduler.stats().queued).toBe(1);
});

test.each(["starts", "times out", "is cancelled", "is refused by close"])(
  "no listener stays on the signal of a call that %s",
  async (end) => {
    const desk = new Desk();
    const controller = new AbortController();
    desk.call("a");
    desk.call("b", { signal: controller.signal, queueMs: 100 });
    expect(listeners(controller.signal)).toBe(1);
    if (end === "starts") await desk.finish("a");
    if (end === "times out") await pass(200);
    if (end === "is cancelled") controller.abort();
    if (end === "is refused by close") desk.scheduler.close({ refuseWaiting: true });
    expect(listeners(controller.signal)).toBe(0);
  },
);

test("a cancelled call makes room for another one", async () => {
  const desk = new Desk({ maxQueued: 1 });
  const controller = new AbortController();
  desk.call("a");
  desk.call("b", { signal: controller.signal });
  controller.abort();
  desk.call("c");
  await flush();
  expect(Object.fromEntries(desk.outcomes)).toEqual({ b: "cancelled" });
  await desk.finishAll();
  expect(desk.started).toEqual(["a", "c"]);
});

test("a signal still cancels those that wait when others that share it have started", async () => {
  const desk = new Desk();
  const controller = new AbortController();
  desk.call("a");
  for (const name of ["b", "c"]) desk.call(name, { signal: controller.signal });
  await desk.finish("a");
  controller.abort();
  await flush();
  expect([desk.running, desk.outcomes.get("c")]).toEqual([["b"], "cancelled"]);
});

test("a signal with which nothing waited any more cancels a later call that waits", async () => {
  const desk = new Desk();
  const controller = new AbortController();
  desk.call("a");
  desk.call("b", { signal: controller.signal });
  await desk.finish("a");
  desk.call("c", { signal: controller.signal });
  controller.abort();
  await flush();
  expect(desk.outcomes.get("c")).toBe("cancelled");
});
