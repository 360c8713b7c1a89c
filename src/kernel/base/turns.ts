import { setImmediate as nextTurn } from "node:timers/promises";

/** Time of a turn on the event loop. */
const TURN_MS = 4;

/**
 * Visits items in their order, and yields to other work every few milliseconds: for work that is short for each item,
 * and long for all of them.
 */
export async function eachInTurns<Item>(items: Iterable<Item>, visit: (item: Item) => void): Promise<void> {
  let sinceMs = performance.now();
  for (const item of items) {
    visit(item);
    if (performance.now() - sinceMs < TURN_MS) continue;
    await nextTurn();
    sinceMs = performance.now();
  }
}
