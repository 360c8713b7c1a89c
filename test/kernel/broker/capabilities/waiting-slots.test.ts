import { expect, test } from "vitest";
import { WaitingSlots } from "../../../../src/kernel/broker/capabilities/waiting-slots.ts";

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

/** Found by a review: one tenant took all places of fetch, or of exec, and others waited without end. */
test("a tenant that asks for all places leaves those in reserve to others, which need not wait", async () => {
  const places = new WaitingSlots({ max: 4, reserved: 1, waitMs: null, late });
  const entered: string[] = [];
  const enter = (tenant: string) =>
    places.enter(signal, tenant).then((leave) => {
      entered.push(tenant);
      return leave;
    });
  const greedy = Array.from({ length: 10 }, () => enter("greedy"));
  const leaveModest = await enter("modest");
  expect(entered).toEqual(["greedy", "greedy", "greedy", "modest"]);
  (await greedy[0])?.();
  // The place that is free now is in reserve again.
  await enter("late");
  expect(entered.slice(4)).toEqual(["late"]);
  leaveModest();
  (await greedy[1])?.();
  await greedy[3];
});

test("a free place goes to the tenant that holds fewest, and there to who waits longest", async () => {
  const places = new WaitingSlots({ max: 2, waitMs: null, late });
  const entered: string[] = [];
  const leaves = [await places.enter(signal, "a"), await places.enter(signal, "a")];
  const enter = (tenant: string, name: string) =>
    places.enter(signal, tenant).then((leave) => {
      entered.push(name);
      leaves.push(leave);
    });
  const all = [enter("a", "a1"), enter("a", "a2"), enter("b", "b1"), enter("b", "b2"), enter("c", "c1")];
  while (entered.length < all.length) {
    leaves.shift()?.();
    await new Promise((done) => setImmediate(done));
  }
  expect(entered).toEqual(["b1", "a1", "c1", "b2", "a2"]);
});

test("they are idle when the last place is given back", async () => {
  const places = new WaitingSlots({ max: 2, waitMs: null, late });
  await places.idle();
  const leaves = [await places.enter(signal), await places.enter(signal)];
  let isIdle = false;
  const idle = places.idle().then(() => (isIdle = true));
  leaves[0]?.();
  await new Promise((done) => setImmediate(done));
  expect(isIdle).toBe(false);
  leaves[1]?.();
  await idle;
});
