import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { AbortGroup } from "../../../../src/kernel/engine/call/abort-group.ts";

function openGroup() {
  const controller = new AbortController();
  const cancelled: string[] = [];
  const group = new AbortGroup<string>(controller.signal, (call) => void cancelled.push(call));
  return { controller, cancelled, group, listeners: () => getEventListeners(controller.signal, "abort").length };
}

test("the calls of a group share a listener, which goes with the last of them", () => {
  const { group, listeners } = openGroup();
  for (const call of ["a", "b", "c"]) group.add(call);
  expect(listeners()).toBe(1);
  for (const call of ["a", "c"]) group.delete(call);
  expect(listeners()).toBe(1);
  group.delete("b");
  expect(listeners()).toBe(0);
});

test("an abort cancels the calls that are still in the group, also of one that was empty", () => {
  const { controller, cancelled, group } = openGroup();
  group.add("a");
  group.delete("a");
  for (const call of ["b", "c", "d"]) group.add(call);
  group.delete("c");
  controller.abort();
  expect(cancelled).toEqual(["b", "d"]);
});

test("a call that is no longer in a group takes nobody's listener away", () => {
  const { group, listeners } = openGroup();
  group.add("a");
  group.delete("b");
  expect(listeners()).toBe(1);
});
