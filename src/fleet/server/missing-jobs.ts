import { answerOf } from "../../store/redis/reply.ts";
import type { Fleet } from "../wire/fleet.ts";
import type { FleetJob } from "./fleet-job.ts";

const JOBS_MAX = 1_000;

/**
 * Looks for jobs of which nothing is heard. A Redis that was killed may have lost what it had not written yet: a job, or the
 * envelope that said how its calls ended. What is missing twice goes once more; the journal keeps its effects from being repeated.
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
      // Where Redis is away, they are looked for when it is back.
      const [error, count] = answers?.[at] ?? [new Error("no answer")];
      if (error === null && !this.#isClosed) this.#record(job, count === 0);
    }
  }

  #record(job: FleetJob, isMissing: boolean): void {
    const nowMs = performance.now();
    job.seenMs = nowMs;
    // What its machine had said before it was first missing has been read since: a long envelope may take a while.
    if (isMissing && job.missingMs !== null && this.#readMs() > job.missingMs) return this.#sendAgain(job);
    job.missingMs = isMissing ? (job.missingMs ?? nowMs) : null;
  }
}
