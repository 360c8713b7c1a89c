import { answerOf } from "../redis/reply.ts";
import type { RedisConnection } from "../redis/connection.ts";
import type { FleetJob } from "./fleet-job.ts";

/** Delay before the expiry is set: most jobs are complete by then and need none. */
const SOON_MS = 50;
const AGAIN_MS = 1_000;

interface SentJob {
  readonly job: FleetJob;
  readonly ttlMs: number;
}

/** Sets an expiry on jobs, so that Redis removes those of a lost server. A job outlives its calls by a while. */
export class JobExpiry {
  readonly #connection: RedisConnection;
  readonly #keyOf: (job: string) => string;
  #sent: SentJob[] = [];
  #isClosed = false;
  #due: NodeJS.Timeout | undefined;

  constructor(connection: RedisConnection, keyOf: (job: string) => string) {
    this.#connection = connection;
    this.#keyOf = keyOf;
  }

  /** The queue has accepted a job. */
  onSent(job: FleetJob, ttlMs: number): void {
    this.#sent.push({ job, ttlMs });
    this.#due ??= setTimeout(() => this.#send(), SOON_MS);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#due);
    this.#sent = [];
  }

  #send(): void {
    this.#due = undefined;
    const left = this.#sent.filter(({ job }) => !job.isDone);
    this.#sent = [];
    if (left.length > 0) void this.#expire(left);
  }

  async #expire(jobs: readonly SentJob[]): Promise<void> {
    const expired = await answerOf(this.#connection, (client) => {
      const commands = client.pipeline();
      for (const { job, ttlMs } of jobs) commands.pexpire(this.#keyOf(job.id), ttlMs);
      return commands.exec();
    });
    const refused = jobs.filter((_job, at) => expired?.[at]?.[0] !== null);
    if (refused.length === 0 || this.#isClosed) return;
    this.#sent.push(...refused);
    this.#due ??= setTimeout(() => this.#send(), AGAIN_MS);
  }
}
