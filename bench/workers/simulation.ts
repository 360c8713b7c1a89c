import type { Report } from "../report.ts";

/** A straight line through costs: so much for each batch, and so much for each call in it, in microseconds. */
export interface BatchCost {
  readonly batchUs: number;
  readonly callUs: number;
}

/** What calls cost the two threads that they pass. */
export interface DispatchCosts {
  /** The embedder's thread, there and back. */
  readonly host: BatchCost;
  readonly worker: BatchCost;
}

export interface Simulated {
  readonly callsPerSecond: number;
  /** Share of the time in which the embedder's thread is at work. */
  readonly hostShare: number;
}

/** One line of the table: what tools reach, by their processor time. */
export interface SimulatedLine {
  readonly workers: number;
  readonly tools: readonly ({ readonly toolUs: number } & Simulated)[];
}

/** Result of a run, as it is written to a file. */
export interface WorkersReport {
  readonly machine: Report["machine"];
  /** In ISO 8601. */
  readonly startedAt: string;
  readonly rounds: number;
  readonly inFlightPerWorker: number;
  readonly costs: DispatchCosts;
  readonly lines: readonly SimulatedLine[];
}

interface Workload {
  readonly workers: number;
  /** Processor time of the tool, in microseconds. */
  readonly toolUs: number;
  readonly inFlightPerWorker: number;
}

const BATCHES_PER_WORKER = 200;
/** As the dispatcher has it: a worker finds the next batch there when it ends one. */
const IN_FLIGHT_PER_WORKER = 2;
/** A worker's turn begins no further call after this time, so calls of slow tools travel in small batches. */
const TURN_US = 2_000;

/**
 * Calls of one engine with many workers, in a closed loop: each call that ends is followed by another. A worker has two
 * batches, and runs one after the other. The embedder's thread serves one batch after the other, in the order in which they
 * come back: it ends their calls, begins as many, and sends them as the next batch. Each worker has a processor of its own.
 */
export function simulate({ host, worker }: DispatchCosts, { workers, toolUs, inFlightPerWorker }: Workload): Simulated {
  const size = Math.ceil(Math.min(inFlightPerWorker / IN_FLIGHT_PER_WORKER, TURN_US / (worker.callUs + toolUs)));
  const hostUs = host.batchUs + size * host.callUs;
  const workerUs = worker.batchUs + size * (worker.callUs + toolUs);
  /** When each batch comes back next; in the beginning all at once. */
  const back = Array.from({ length: workers * IN_FLIGHT_PER_WORKER }, () => 0);
  /** When each worker has run the batches that it has. */
  const idle = Array.from({ length: workers }, () => 0);
  let nowUs = 0;
  let busyUs = 0;
  const batches = workers * BATCHES_PER_WORKER;
  for (let batch = 0; batch < batches; batch++) {
    const next = back.indexOf(Math.min(...back));
    nowUs = Math.max(nowUs, back[next] ?? 0) + hostUs;
    busyUs += hostUs;
    const at = next % workers;
    back[next] = idle[at] = Math.max(nowUs, idle[at] ?? 0) + workerUs;
  }
  return { callsPerSecond: (batches * size * 1e6) / nowUs, hostShare: busyUs / nowUs };
}
