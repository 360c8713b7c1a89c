import { monotonicMs } from "../../base/protocol/turn-record.ts";

/** Maximum time for all endings, in milliseconds. */
const END_MS = 2_000;

/** Work that has to end before this process ends its threads. */
export interface Ending {
  /** Requests the end. */
  order(): void;
  /** Blocks until it has ended, at most until that time of the monotonic clock. */
  await(untilMs: number): void;
}

const endings = new Set<Ending>();

function endAll(): void {
  const untilMs = monotonicMs() + END_MS;
  for (const ending of endings) ending.order();
  for (const ending of endings) ending.await(untilMs);
}

/** Ends it at the event `exit`, after which no event loop runs; until it is disposed of. */
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
