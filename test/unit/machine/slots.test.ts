import { expect, test } from "vitest";
import { Slots } from "../../../src/machine/slots.ts";

test("all who wait for room hear of it", async () => {
  const slots = new Slots(1);
  slots.enter();
  const heard = Promise.all([slots.room(), slots.room()]);
  slots.leave(true);
  expect(slots.hasRoom).toBe(true);
  await heard;
});
