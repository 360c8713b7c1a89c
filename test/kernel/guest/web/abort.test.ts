import { expect, test } from "vitest";
import { createAbortClasses } from "../../../../src/kernel/guest/web/abort.ts";
import { DOMException } from "../../../../src/kernel/guest/web/dom-exception.ts";
import { createEventClasses } from "../../../../src/kernel/guest/web/events.ts";
import { inIsolate } from "./in-isolate.ts";

const timers: { callback: () => void; ms: number }[] = [];
const events = createEventClasses(() => undefined);
const { AbortController, AbortSignal } = createAbortClasses({
  ...events,
  DOMException,
  setTimeout: (callback, ms) => timers.push({ callback, ms }),
});

test("a controller aborts its signal once", () => {
  const controller = new AbortController();
  const heard: string[] = [];
  controller.signal.addEventListener("abort", (event) => heard.push(event.type));
  expect(controller.signal.aborted).toBe(false);
  controller.abort("why");
  controller.abort("again");
  expect([controller.signal.aborted, controller.signal.reason, heard]).toEqual([true, "why", ["abort"]]);
});

test("without a reason the reason is an AbortError", () => {
  const { reason } = AbortSignal.abort();
  expect(reason).toBeInstanceOf(DOMException);
  expect((reason as Error).name).toBe("AbortError");
  expect(AbortSignal.abort(null).reason).toBe(null);
});

test("throwIfAborted throws the reason itself", () => {
  const reason = { own: true };
  expect(() => AbortSignal.abort(reason).throwIfAborted()).toThrow(expect.objectContaining({ own: true }));
  new AbortController().signal.throwIfAborted();
});

test("signals cannot be constructed", () => {
  expect(() => new AbortSignal()).toThrow("Illegal constructor");
  expect(() => new (class extends AbortSignal {})()).toThrow("Illegal constructor");
  expect(() => Reflect.get(AbortSignal.prototype, "aborted")).toThrow(TypeError);
});

test("onabort is a listener that can be replaced and removed", () => {
  const controller = new AbortController();
  const heard: string[] = [];
  controller.signal.onabort = () => heard.push("first");
  controller.signal.addEventListener("abort", () => heard.push("listener"));
  controller.signal.onabort = () => heard.push("second");
  controller.abort();
  expect(heard).toEqual(["second", "listener"]);
  const other = new AbortController();
  other.signal.onabort = () => heard.push("never");
  other.signal.onabort = null;
  other.abort();
  expect(heard).toHaveLength(2);
});

test("timeout aborts with a TimeoutError when the timer fires", () => {
  const signal = AbortSignal.timeout(25);
  const timer = timers.at(-1);
  expect([timer?.ms, signal.aborted]).toEqual([25, false]);
  timer?.callback();
  expect((signal.reason as Error).name).toBe("TimeoutError");
});

test("timeout refuses what is no time", () => {
  for (const ms of [-1, NaN, Infinity, 2 ** 53]) expect(() => AbortSignal.timeout(ms)).toThrow(TypeError);
});

test("any aborts with the first of its signals, through other signals made by any", () => {
  const [a, b] = [new AbortController(), new AbortController()];
  const inner = AbortSignal.any([a.signal]);
  const outer = AbortSignal.any([inner, b.signal]);
  const seen: boolean[] = [];
  a.signal.addEventListener("abort", () => seen.push(inner.aborted, outer.aborted));
  a.abort("a");
  b.abort("b");
  expect([inner.reason, outer.reason, seen]).toEqual(["a", "a", [true, true]]);
});

test("any of an aborted signal is aborted, and any of nothing never aborts", () => {
  expect(AbortSignal.any([new AbortController().signal, AbortSignal.abort("x")]).reason).toBe("x");
  expect(AbortSignal.any([]).aborted).toBe(false);
  expect(() => AbortSignal.any([{} as never])).toThrow(TypeError);
});

test("in a frozen isolate a signal aborts whatever a tool has put on it", async () => {
  const result = await inIsolate(
    `const controller = new AbortController();
    const value = () => { throw new Error("never") };
    Object.defineProperty(controller.signal, "dispatchEvent", { value });
    let count = 0;
    controller.signal.addEventListener("abort", () => count++);
    controller.abort();
    return [count, controller.signal.reason.message, AbortSignal.prototype instanceof EventTarget];`,
    { frozen: true },
  );
  expect(result).toEqual([1, "This operation was aborted", true]);
});
