import { createHistogram } from "node:perf_hooks";
import { executors, residentMb, waitedMs } from "../processes.ts";
import type { Delay } from "./plan.ts";

/** How late the event loop's own timer may come before it counts as a delay at all, in milliseconds. */
const RESOLUTION_MS = 5;
const KIB_PER_MIB = 1_024;
/** How long memory may take to come back, in milliseconds: a process that keeps too much makes room after some seconds. */
const SETTLE_MS = 120_000;
const LOOK_EVERY_MS = 50;

/**
 * How late the host's event loop was, since it was made or last asked. Time in which the machine had its processors do
 * something else does not count.
 */
export class Pulse {
  readonly #histogram = createHistogram();
  #last = { nowMs: performance.now(), waitedMs: waitedMs() };

  constructor() {
    setInterval(() => this.#beat(), RESOLUTION_MS).unref();
  }

  #beat(): void {
    const now = { nowMs: performance.now(), waitedMs: waitedMs() };
    const turnMs = now.nowMs - this.#last.nowMs - (now.waitedMs - this.#last.waitedMs);
    this.#last = now;
    this.#histogram.record(Math.max(1, Math.round(turnMs * 1e6)));
  }

  read(): Delay {
    const { max } = this.#histogram;
    const [p50, p99] = [this.#histogram.percentile(50), this.#histogram.percentile(99)];
    return { p50Ms: toDelay(p50), p99Ms: toDelay(p99), maxMs: toDelay(max) };
  }

  take(): Delay {
    const delay = this.read();
    this.#histogram.reset();
    return delay;
  }
}

/** The histogram holds the time between two turns of a timer. */
function toDelay(nanoseconds: number): number {
  return Math.max(0, Math.round((nanoseconds / 1e6 - RESOLUTION_MS) * 10) / 10);
}

/** Memory in MiB: the host's own, and what each of its executors has. Linux only: elsewhere there are no numbers. */
export interface Memory {
  readonly hostMb: number;
  readonly executorsMb: readonly number[];
}

export function measureMemory(): Memory {
  globalThis.gc?.();
  return { hostMb: residentMb("self"), executorsMb: executors().map(residentMb) };
}

/** How much more than at the start is held once memory has had time to come back. */
export interface Growth {
  readonly hostMb: number;
  /** What each of its executors holds beyond what one of them held at the start. */
  readonly executorsMb: number;
}

/** Waits until no more than `allowed` is held that was not at the start; gives up after a while, and tells. */
export async function settledGrowth(start: Memory, allowed: Growth): Promise<Growth> {
  const untilMs = performance.now() + SETTLE_MS;
  for (;;) {
    const now = measureMemory();
    const hostMb = Math.round(now.hostMb - start.hostMb);
    const executorsMb = Math.round(beyond(now.executorsMb, mean(start.executorsMb)));
    const isBack = hostMb <= allowed.hostMb && executorsMb <= allowed.executorsMb;
    if (isBack || performance.now() > untilMs) return { hostMb, executorsMb };
    await new Promise((done) => setTimeout(done, LOOK_EVERY_MS));
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function beyond(values: readonly number[], allowed: number): number {
  return values.reduce((sum, value) => sum + Math.max(0, value - allowed), 0);
}

/** The most that this process has held, in MiB. */
export function peakMb(): number {
  return process.resourceUsage().maxRSS / KIB_PER_MIB;
}
