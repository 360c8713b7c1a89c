import { monotonicMs } from "../../base/protocol/turn-record.ts";

/** Maximum time for all of it, in milliseconds. */
const END_MS = 2_000;

/** Work that has to end before this process ends its threads. */
export interface Ending {
  /** Orders the end. */
  order(): void;
  /** Blocks until it is reached, at most until that time of the monotonic clock. */
  await(untilMs: number): void;
}

const endings = new Set<Ending>();

function endAll(): void {
  const untilMs = monotonicMs() + END_MS;
  for (const ending of endings) ending.order();
  for (const ending of endings) ending.await(untilMs);
}

/** Has it ended at the event `exit`, from which no event loop turns; until it is disposed of. */
export function beforeProcessEnds(ending: Ending): Disposable {
  if (endings.size === 0) process.once("exit", endAll);
  endings.add(ending);
  return {
    [Symbol.dispose]: () => {
      endings.delete(ending);
      if (endings.size === 0) process.off("exit", endAll);
    },
  };
}
