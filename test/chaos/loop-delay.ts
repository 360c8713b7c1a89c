import { monitorEventLoopDelay } from "node:perf_hooks";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

/** How much later than it should a timer came, in milliseconds. */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const EVERY_MS = 2;
const BYSTANDER = "bystander";

/** Watches this thread's event loop until it is asked for what it saw. */
export function watchLoop(): () => LoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: EVERY_MS });
  histogram.enable();
  return () => {
    histogram.disable();
    return { p50: lateMs(histogram, 50), p99: lateMs(histogram, 99), max: lateMs(histogram, 100) };
  };
}

/** What the histogram holds are intervals between timers: what is beyond the one that was asked for is delay. */
function lateMs(histogram: ReturnType<typeof monitorEventLoopDelay>, percentile: number): number {
  return Math.max(0, histogram.percentile(percentile) / 1e6 - EVERY_MS);
}

/**
 * Watches a thread of this process that does nothing at all: what it sees is the machine's own delay, which no host
 * could avoid while executors keep all processors busy.
 */
export function watchBystander(): () => Promise<LoopDelay> {
  const thread = new Worker(new URL(import.meta.url), { workerData: BYSTANDER, execArgv: ["--no-warnings"] });
  return async () => {
    const answer = new Promise<LoopDelay>((resolve) => thread.once("message", resolve));
    thread.postMessage("enough");
    const delay = await answer;
    await thread.terminate();
    return delay;
  };
}

if (!isMainThread && workerData === BYSTANDER) {
  const enough = watchLoop();
  parentPort?.once("message", () => parentPort?.postMessage(enough()));
}
