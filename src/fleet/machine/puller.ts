import { type Job as BullJob, Queue } from "bullmq";
import { setTimeout as delay } from "node:timers/promises";
import { valueIn, within } from "../../kernel/base/deadline.ts";
import type { Fleet } from "../wire/fleet.ts";
import { QueueKeeper } from "../wire/queue-keeper.ts";
import { answerOf } from "../redis/reply.ts";
import { JobMarker } from "./job-marker.ts";
import { JobWorker, packedOf } from "./job-worker.ts";
import type { Slots } from "./slots.ts";

/** Maximum number of times that a job is taken from a lost machine; its server gives up earlier. */
const STALLED_MAX = 100;
const PAUSE_MS = 200;
const CLOSE_MS = 3_000;
const HOLDS_MS = 1_000;
/** Interval at which a machine with too many open jobs searches for jobs that those wait for, in milliseconds. */
const ROOM_MS = 100;

export interface JobPullerOptions {
  readonly fleet: Fleet;
  readonly protocol: number;
  readonly slots: Slots;
  readonly onJob: (job: BullJob, token: string) => void;
}

/** Takes jobs from the fleet's queue, as many as there are slots for, and renews the locks of this machine's jobs. */
export class JobPuller {
  readonly #options: JobPullerOptions;
  readonly #worker: JobWorker;
  readonly #locks: JobLocks;
  readonly #marker: JobMarker;
  /** Tokens of this machine's jobs, by job id. */
  readonly #held = new Map<string, string>();
  readonly #renewing: NodeJS.Timeout;
  readonly #keeper: QueueKeeper;
  #tokens = 0;
  #isClosed = false;
  #pulling: Promise<void> | null = null;

  constructor(options: JobPullerOptions) {
    const { fleet, protocol } = options;
    const { timings } = fleet;
    this.#options = options;
    // BullMQ's own loop has a fixed concurrency; our slots become free while calls wait for their server.
    this.#worker = new JobWorker(fleet.queueOf(protocol), null, {
      connection: fleet.connection.client,
      prefix: fleet.keys.prefix,
      name: fleet.id,
      autorun: false,
      lockDuration: Math.ceil(timings.lockMs),
      stalledInterval: timings.stalledMs,
      maxStalledCount: STALLED_MAX,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    // The connection's users report its errors.
    this.#worker.on("error", () => undefined);
    this.#locks = new JobLocks(fleet, protocol);
    this.#marker = new JobMarker(fleet.connection, this.#worker.toKey("marker"), timings.blockMs);
    this.#keeper = new QueueKeeper(fleet, protocol);
    this.#renewing = setInterval(() => this.#renew(), timings.lockRenewMs);
  }

  start(): void {
    this.#keeper.start();
    this.#pulling ??= this.#pull();
  }

  /** Completes a job with ended or cancelled calls. */
  complete(job: BullJob, token: string): void {
    this.#letGo(job, token);
    // If another machine has taken the job, that machine completes it.
    job.moveToCompleted(null, token, false).then(
      () => this.#dropSide(job),
      () => undefined,
    );
  }

  /** Returns a job to the queue for another machine, at once. */
  async giveBack(job: BullJob, token: string): Promise<void> {
    this.#letGo(job, token);
    // While Redis is unreachable this fails: another machine takes the job when its lock expires.
    await answerOf(this.#options.fleet.connection, () => job.moveToWait(token), CLOSE_MS);
  }

  /** Takes no more jobs; keeps those it has. */
  stop(): void {
    this.#isClosed = true;
    this.#options.slots.wake();
    void this.#worker.pause(true).catch(() => undefined);
    void this.#marker[Symbol.asyncDispose]();
  }

  async close(): Promise<void> {
    this.stop();
    clearInterval(this.#renewing);
    await valueIn(CLOSE_MS, this.#worker.close(true));
    // While Redis is unreachable, a blocked read does not end and has no effect.
    if (this.#options.fleet.connection.isReady) await within(CLOSE_MS, this.#pulling ?? Promise.resolve());
    await this.#marker[Symbol.asyncDispose]();
    await this.#keeper.close();
    await valueIn(CLOSE_MS, this.#locks.close());
  }

  async #pull(): Promise<void> {
    const { slots, fleet } = this.#options;
    this.#worker.startStalledCheckTimer().catch(() => undefined);
    while (!this.#isClosed) {
      if (!slots.hasRoom && !(slots.isCrowded && (await this.#isNextAwaited()))) {
        await slots.room(ROOM_MS);
        continue;
      }
      const token = `${fleet.id}:${++this.#tokens}`;
      try {
        const job = await this.#worker.pull(token);
        if (job === undefined) await this.#marker.wait();
        else this.#take(job, token);
      } catch (error) {
        // A job that BullMQ cannot parse stalls until BullMQ gives it up; the next one does not wait for it.
        if (!(error instanceof SyntaxError)) await delay(PAUSE_MS);
      }
    }
  }

  /** Whether the next job is awaited by other calls or was lost by its machine: only those bypass the order. */
  async #isNextAwaited(): Promise<boolean> {
    const { connection } = this.#options.fleet;
    const length = await answerOf(connection, (client) => client.llen(this.#worker.toKey("wait")), HOLDS_MS);
    return length !== undefined && length > 0;
  }

  #take(job: BullJob, token: string): void {
    this.#held.set(job.id ?? "", token);
    // The pull completed after the stop: the job goes to another machine.
    if (this.#isClosed) return void this.giveBack(job, token);
    this.#options.onJob(job, token);
  }

  /** Removes the side key of a completed job. */
  #dropSide(job: BullJob): void {
    const { connection, payloads } = this.#options.fleet;
    const side = payloads.sideOf(packedOf(job) ?? "");
    if (side !== null && connection.isReady) connection.client.unlink(side).catch(() => undefined);
  }

  /** A job that was lost and taken again has another token. */
  #letGo({ id = "" }: BullJob, token: string): void {
    if (this.#held.get(id) === token) this.#held.delete(id);
  }

  #renew(): void {
    if (this.#held.size === 0 || !this.#options.fleet.pulse.isReady) return;
    this.#locks.extend([...this.#held.keys()], [...this.#held.values()]).catch(() => undefined);
  }
}

/** Renews job locks on a connection without large commands. */
class JobLocks {
  readonly #queue: Queue;
  readonly #lockMs: number;

  constructor(fleet: Fleet, protocol: number) {
    const { pulse, keys, timings } = fleet;
    this.#lockMs = Math.ceil(timings.lockMs);
    const name = fleet.queueOf(protocol);
    this.#queue = new Queue(name, { connection: pulse.client, prefix: keys.prefix, skipMetasUpdate: true });
    // The connection's users report its errors.
    this.#queue.on("error", () => undefined);
  }

  /**
   * `tokens`: the token of each job. Returns the ids of jobs that this machine no longer owns. Rejects if Redis does
   * not reply.
   */
  extend(ids: readonly string[], tokens: readonly string[]): Promise<readonly string[]> {
    return this.#queue.backend.extendLocks([...ids], [...tokens], this.#lockMs);
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}
