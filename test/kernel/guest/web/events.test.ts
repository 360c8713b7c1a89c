import { expect, test } from "vitest";
import { createEventClasses } from "../../../../src/kernel/guest/web/events.ts";
import { inIsolate } from "./in-isolate.ts";

const reported: unknown[] = [];
const ours = createEventClasses((error) => reported.push(error));

test("an event shows what it was made from", () => {
  const event = new ours.Event("click", { bubbles: true, cancelable: true });
  expect([event.type, event.bubbles, event.cancelable, event.composed, event.target, event.eventPhase]).toEqual([
    "click",
    true,
    true,
    false,
    null,
    0,
  ]);
  expect(new ours.CustomEvent("c", { detail: 5 }).detail).toBe(5);
  expect(new ours.CustomEvent("c").detail).toBe(null);
});

test("listeners hear the event in order, with the target as this", () => {
  const target = new ours.EventTarget();
  const heard: unknown[] = [];
  target.addEventListener("e", function (event) {
    heard.push(this === target, event.target === target, event.currentTarget === target);
  });
  target.addEventListener("e", { handleEvent: (event) => heard.push(event.type) });
  const event = new ours.Event("e");
  expect(target.dispatchEvent(event)).toBe(true);
  expect(heard).toEqual([true, true, true, "e"]);
  expect([event.target, event.currentTarget]).toEqual([target, null]);
});

test("the same listener is added once for each phase, and removed", () => {
  const target = new ours.EventTarget();
  const heard: number[] = [];
  const listener = () => heard.push(1);
  target.addEventListener("e", listener);
  target.addEventListener("e", listener, { once: true });
  target.addEventListener("e", listener, true);
  target.dispatchEvent(new ours.Event("e"));
  expect(heard).toEqual([1, 1]);
  target.removeEventListener("e", listener, { capture: true });
  target.removeEventListener("e", listener);
  target.dispatchEvent(new ours.Event("e"));
  expect(heard).toEqual([1, 1]);
});

test("capturing listeners hear the event first", () => {
  const target = new ours.EventTarget();
  const heard: string[] = [];
  target.addEventListener("e", () => heard.push("bubble"));
  target.addEventListener("e", () => heard.push("capture"), true);
  target.dispatchEvent(new ours.Event("e"));
  expect(heard).toEqual(["capture", "bubble"]);
});

test("a listener with once is gone before it is called", () => {
  const target = new ours.EventTarget();
  let count = 0;
  target.addEventListener(
    "e",
    () => {
      count += 1;
      target.dispatchEvent(new ours.Event("e"));
    },
    { once: true },
  );
  target.dispatchEvent(new ours.Event("e"));
  expect(count).toBe(1);
});

test("listeners added during a dispatch wait, and removed ones are not called", () => {
  const target = new ours.EventTarget();
  const heard: string[] = [];
  const second = () => heard.push("second");
  target.addEventListener("e", () => {
    heard.push("first");
    target.removeEventListener("e", second);
    target.addEventListener("e", () => heard.push("late"));
  });
  target.addEventListener("e", second);
  target.dispatchEvent(new ours.Event("e"));
  expect(heard).toEqual(["first"]);
});

test("stopImmediatePropagation keeps the event from the other listeners", () => {
  const target = new ours.EventTarget();
  const heard: number[] = [];
  target.addEventListener("e", (event) => {
    heard.push(1);
    event.stopImmediatePropagation();
  });
  target.addEventListener("e", () => heard.push(2));
  target.dispatchEvent(new ours.Event("e"));
  expect(heard).toEqual([1]);
});

test("preventDefault counts for cancelable events and outside of passive listeners", () => {
  const run = (cancelable: boolean, passive: boolean) => {
    const target = new ours.EventTarget();
    target.addEventListener("e", (event) => event.preventDefault(), { passive });
    return target.dispatchEvent(new ours.Event("e", { cancelable }));
  };
  expect([run(true, false), run(false, false), run(true, true)]).toEqual([false, true, true]);
});

test("an exception in a listener is reported later and stops nothing", async () => {
  const target = new ours.EventTarget();
  const heard: number[] = [];
  target.addEventListener("e", () => {
    throw new Error("from listener");
  });
  target.addEventListener("e", { handleEvent: undefined as never });
  target.addEventListener("e", () => heard.push(2));
  reported.length = 0;
  target.dispatchEvent(new ours.Event("e"));
  expect([heard, reported.length]).toEqual([[2], 0]);
  await Promise.resolve();
  expect(reported.map((error) => (error as Error).name)).toEqual(["Error", "TypeError"]);
});

test("an event that is being dispatched cannot be dispatched again", () => {
  const target = new ours.EventTarget();
  let name = "";
  target.addEventListener("e", (event) => {
    try {
      target.dispatchEvent(event);
    } catch (error) {
      name = (error as Error).name;
    }
  });
  target.dispatchEvent(new ours.Event("e"));
  expect(name).toBe("InvalidStateError");
});

test("what is no event or no listener is refused", () => {
  const target = new ours.EventTarget();
  expect(() => target.dispatchEvent({ type: "e" } as never)).toThrow(TypeError);
  expect(() => target.addEventListener("e", 5 as never)).toThrow(TypeError);
  expect(() => target.addEventListener("e", () => 0, { signal: {} })).toThrow(TypeError);
  expect(() => Reflect.construct(ours.Event, [])).toThrow(TypeError);
  target.addEventListener("e", null);
});

test("in an isolate a listener goes when its signal aborts", async () => {
  const heard = await inIsolate(
    `const target = new EventTarget();
    const controller = new AbortController();
    const heard = [];
    target.addEventListener("e", () => heard.push("a"), { signal: controller.signal });
    target.dispatchEvent(new Event("e"));
    controller.abort();
    target.dispatchEvent(new Event("e"));
    target.addEventListener("e", () => heard.push("b"), { signal: controller.signal });
    target.dispatchEvent(new Event("e"));
    target.addEventListener("e", () => { throw new Error("told") });
    target.dispatchEvent(new Event("e"));
    await undefined;
    return [heard, errors];`,
    { frozen: true },
  );
  expect(heard).toEqual([["a"], ["Error: told"]]);
});

test("an event can be made again, but not while it is dispatched", () => {
  const target = new ours.EventTarget();
  const event = new ours.Event("a", { cancelable: true });
  target.addEventListener("a", () => event.initEvent("during"));
  event.preventDefault();
  target.dispatchEvent(event);
  expect([event.type, event.defaultPrevented]).toEqual(["a", true]);
  event.initEvent("b", true);
  expect([event.type, event.bubbles, event.cancelable, event.defaultPrevented, event.target]).toEqual([
    "b",
    true,
    false,
    false,
    null,
  ]);
  expect(() => event.initEvent(...([] as unknown as [type: string]))).toThrow(TypeError);
});

test("options are read in the order of the standard, also without a listener", () => {
  const read: string[] = [];
  const options = new Proxy({}, { get: (_target, key) => void read.push(String(key)) });
  new ours.EventTarget().addEventListener("e", null, options);
  new ours.EventTarget().removeEventListener("e", null, options);
  expect(read).toEqual(["capture", "once", "passive", "signal"]);
});

test("only what the realm itself dispatches is trusted", async () => {
  const found = await inIsolate(
    `const controller = new AbortController();
    const { signal } = controller;
    const heard = [];
    let event;
    signal.onabort = (given) => heard.push([given.type, (event = given).isTrusted]);
    signal.dispatchEvent(new Event("abort"));
    controller.abort();
    signal.dispatchEvent(event);
    return heard;`,
    { frozen: true },
  );
  expect(found).toEqual([
    ["abort", false],
    ["abort", true],
    ["abort", false],
  ]);
});
