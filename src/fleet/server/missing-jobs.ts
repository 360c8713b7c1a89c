import { answerOf } from "../redis/reply.ts";
import type { Fleet } from "../wire/fleet.ts";
import type { FleetJob } from "./fleet-job.ts";

const JOBS_MAX = 1_000;

/**
 * Looks for jobs without recent messages. A killed Redis may lose unwritten data: a job, or the envelope with its
 * results. A job that is missing twice is sent again; the journal keeps its effects from being repeated.
 */
export class MissingJobs {
  readonly #fleet: Fleet;
  readonly #keyOf: (job: string) => string;
  readonly #sendAgain: (job: FleetJob) => void;
  readonly #readMs: () => number;
  #lookedMs = 0;
  #isLooking = false;
  #isClosed = false;

  /** `readMs`: the time up to which all messages have been read. */
  constructor(fleet: Fleet, keyOf: (job: string) => string, readMs: () => number, sendAgain: (job: FleetJob) => void) {
    this.#readMs = readMs;
    this.#fleet = fleet;
    this.#keyOf = keyOf;
    this.#sendAgain = sendAgain;
  }

  close(): void {
    this.#isClosed = true;
  }

  look(jobs: Iterable<FleetJob>, nowMs: number): void {
    const { lookMs, silentMs } = this.#fleet.timings;
    if (nowMs - this.#lookedMs < lookMs) return;
    this.#lookedMs = nowMs;
    const silent: FleetJob[] = [];
    for (const job of jobs) {
      if (nowMs - job.seenMs >= silentMs && silent.length < JOBS_MAX) silent.push(job);
    }
    if (silent.length > 0 && !this.#isLooking) void this.#find(silent);
  }

  async #find(jobs: readonly FleetJob[]): Promise<void> {
    this.#isLooking = true;
    const answers = await answerOf(this.#fleet.connection, (client) => {
      const pipeline = client.pipeline();
      for (const job of jobs) pipeline.exists(this.#keyOf(job.id));
      return pipeline.exec();
    });
    this.#isLooking = false;
    for (const [at, job] of jobs.entries()) {
      // While Redis is unreachable, nothing is recorded; the next look repeats the search.
      const [error, count] = answers?.[at] ?? [new Error("no answer")];
      if (error === null && !this.#isClosed) this.#record(job, count === 0);
    }
  }

  #record(job: FleetJob, isMissing: boolean): void {
    const nowMs = performance.now();
    job.seenMs = nowMs;
    // All messages sent before the job was first missing have been read: a long envelope may take a while.
    if (isMissing && job.missingMs !== null && this.#readMs() > job.missingMs) return this.#sendAgain(job);
    job.missingMs = isMissing ? (job.missingMs ?? nowMs) : null;
  }
}
