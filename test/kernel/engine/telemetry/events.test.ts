import { once } from "node:events";
import { expect, test } from "vitest";
import { Events, type RequestRefusal } from "../../../../src/kernel/engine/telemetry/events.ts";

const refusal: RequestRefusal = { code: "unauthorized", key: null, address: "127.0.0.1", reason: "unknown key" };

test("the old name of request:refused is an alias, and each listener gets the event once", () => {
  const events = new Events();
  const heard: string[] = [];
  const onOld = (event: RequestRefusal): void => void heard.push(`old ${event.reason}`);
  const onNew = (event: RequestRefusal): void => void heard.push(`new ${event.reason}`);
  events.on("door:refuse", onOld);
  events.on("request:refused", onNew);
  events.emit("request:refused", refusal);
  expect(heard).toEqual(["old unknown key", "new unknown key"]);
  events.off("door:refuse", onOld);
  events.emit("request:refused", refusal);
  expect(heard).toEqual(["old unknown key", "new unknown key", "new unknown key"]);
  events.off("request:refused", onNew);
  expect(events.has("request:refused")).toBe(false);
});

/** A failure of either kind, and what becomes of it. Found by a review: the rejected promise ended the host. */
test.each([
  [
    "throws",
    () => {
      throw new Error("out of paper");
    },
  ],
  ["rejects", () => Promise.reject(new Error("out of paper"))],
])("a listener that %s is reported, and the others get the event", async (_what, failing: () => unknown) => {
  const events = new Events();
  const { promise: reported, resolve } = Promise.withResolvers<unknown>();
  let others = 0;
  events.on("engine:close", failing);
  events.on("engine:close", () => others++);
  events.on("listener:error", resolve);
  events.emit("engine:close");
  expect(await reported).toEqual({ listener: "engine:close", error: new Error("out of paper") });
  expect(others).toBe(1);
});

test("a failure of a listener for failures, or without one, is a warning of the process", async () => {
  const events = new Events();
  events.on("listener:error", () => Promise.reject(new Error("no ink either")));
  const warned = once(process, "warning");
  events.reportListener("onLog", new Error("out of paper"));
  expect(await warned).toMatchObject([{ message: "no ink either" }]);
});
