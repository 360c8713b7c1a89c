import { expect, test } from "vitest";
import { Events, type RequestRefusal } from "../../../src/engine/telemetry/events.ts";

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
