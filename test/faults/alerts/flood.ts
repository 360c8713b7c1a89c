/** Requests that come without a pause, and a fault that goes on until it is healed. */
import { setTimeout as delay } from "node:timers/promises";
import type { Heal } from "../fault.ts";

/** Does something again and again until it is healed: `atOnce` side by side, each after a pause. */
export function flood(atOnce: number, pauseMs: number, act: () => Promise<unknown>): Heal {
  let isOver = false;
  const one = async (): Promise<void> => {
    while (!isOver) {
      // What fails is tried again: it may be the fault.
      await act().catch(() => undefined);
      await delay(pauseMs);
    }
  };
  const all = Promise.all(Array.from({ length: atOnce }, one));
  return async () => {
    isOver = true;
    await all;
  };
}
