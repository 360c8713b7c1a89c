import { expect, test } from "vitest";
import { WaitingSlots } from "../../../../src/broker/capabilities/fetch/waiting-slots.ts";

const late = () => new Error("too late");
const { signal } = new AbortController();

test("places go to whoever waits longest, and are given back once", async () => {
  const places = new WaitingSlots({ max: 1, waitMs: null, late });
  const order: string[] = [];
  const leave = await places.enter(signal);
  const second = places.enter(signal).then((leaveSecond) => (order.push("second"), leaveSecond));
  const third = places.enter(signal).then((leaveThird) => (order.push("third"), leaveThird));
  leave();
  leave();
  const leaveSecond = await second;
  expect(order).toEqual(["second"]);
  leaveSecond();
  await third;
  expect(order).toEqual(["second", "third"]);
});

test("whoever waits too long, or gives up, takes no place", async () => {
  const places = new WaitingSlots({ max: 1, waitMs: 20, late });
  const leave = await places.enter(signal);
  const abort = new AbortController();
  const givenUp = places.enter(abort.signal);
  abort.abort(new Error("given up"));
  await expect(givenUp).rejects.toThrow("given up");
  await expect(places.enter(abort.signal)).rejects.toThrow("given up");
  await expect(places.enter(signal)).rejects.toThrow("too late");
  leave();
  const leaveAgain = await places.enter(signal);
  leaveAgain();
});
