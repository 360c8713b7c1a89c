import type { RedisConnection } from "../../redis/connection.ts";
import type { FleetJob } from "./fleet-job.ts";

/** Most jobs are over after so long, and then there is nothing that could be left behind. */
const SOON_MS = 50;
const AGAIN_MS = 1_000;

/** Has Redis take away what a server leaves behind that is lost: a job outlives its calls by a while, and then expires. */
export class JobExpiry {
  readonly #connection: RedisConnection;
  readonly #keyOf: (job: string) => string;
  #sent: { readonly job: FleetJob; readonly ttlMs: number }[] = [];
  #due: NodeJS.Timeout | undefined;

  constructor(connection: RedisConnection, keyOf: (job: string) => string) {
    this.#connection = connection;
    this.#keyOf = keyOf;
  }

  /** The queue has a job. */
  onSent(job: FleetJob, ttlMs: number): void {
    this.#sent.push({ job, ttlMs });
    this.#due ??= setTimeout(() => this.#send(), SOON_MS);
  }

  close(): void {
    clearTimeout(this.#due);
    this.#sent = [];
  }

  #send(): void {
    this.#due = undefined;
    const left = this.#sent.filter(({ job }) => job.open.size > 0);
    this.#sent = [];
    if (left.length === 0) return;
    if (!this.#connection.isReady) {
      this.#sent = left;
      this.#due = setTimeout(() => this.#send(), AGAIN_MS);
      return;
    }
    const commands = this.#connection.client.pipeline();
    for (const { job, ttlMs } of left) commands.pexpire(this.#keyOf(job.id), ttlMs);
    commands.exec().catch(() => undefined);
  }
}
