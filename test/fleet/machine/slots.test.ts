import { expect, test } from "vitest";
import { Slots } from "../../../src/fleet/machine/slots.ts";

const LONG_MS = 60_000;

test("room is told to all who wait for it", async () => {
  const slots = new Slots(1);
  slots.enter();
  const waiting = [slots.room(LONG_MS), slots.room(LONG_MS)];
  slots.leave(true);
  await Promise.all(waiting);
  expect(slots.hasRoom).toBe(true);
});

test("a machine whose jobs all wait for others is crowded, and not busy", () => {
  const slots = new Slots(1);
  for (let open = 0; open < 16; open++) {
    slots.enter();
    expect(slots.isCrowded).toBe(false);
    slots.change(false);
  }
  expect(slots).toMatchObject({ busy: 0, open: 16, hasRoom: false, isCrowded: true });
  slots.leave(false);
  expect(slots).toMatchObject({ hasRoom: true, isCrowded: false });
});
