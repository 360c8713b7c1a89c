import { randomUUID } from "node:crypto";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Queue, QueueEvents } from "bullmq";
import { Redis } from "ioredis";
import { addArguments } from "../tools.ts";

const PROGRAM = fileURLToPath(new URL("bare-queue-worker.ts", import.meta.url));
const FLAGS = ["--no-node-snapshot", "--no-warnings"];
/** Jobs that one worker has at once: of 8, 32, 64 and 256 what is quickest where there is one worker. */
const CONCURRENCY = 32;

/** What workers say of jobs that are completed. */
export type Told = readonly (readonly [id: string, sum: number])[];

/**
 * How the producer hears that a job is completed. `events`: from Redis, as it has to where workers are elsewhere. `pipe`: from the
 * worker itself, past Redis, which costs less than any way that a fleet could have.
 */
export type Report = "events" | "pipe";

/** How jobs are added: each by itself, or those of one turn of the event loop together. */
export type Adding = "single" | "bulk";

/** Bare BullMQ: jobs that do nothing. */
export class BareQueue implements AsyncDisposable {
  readonly #queue: Queue;
  readonly #opened: AsyncDisposableStack;
  readonly #pending: Map<string, (sum: number) => void>;
  #adding: { id: string; index: number }[] = [];
  #last = 0;
  readonly #isBulk: boolean;

  private constructor(
    queue: Queue,
    adding: Adding,
    pending: Map<string, (sum: number) => void>,
    opened: AsyncDisposableStack,
  ) {
    this.#isBulk = adding === "bulk";
    this.#queue = queue;
    this.#pending = pending;
    this.#opened = opened;
  }

  static async start(url: string, workers: number, report: Report, adding: Adding = "bulk"): Promise<BareQueue> {
    await using opening = new AsyncDisposableStack();
    const name = `bare-${randomUUID()}`;
    const connect = () => opening.adopt(new Redis(url, { maxRetriesPerRequest: null }), (redis) => redis.disconnect());
    const queue = opening.adopt(new Queue(name, { connection: connect() }), (open) => open.close());
    const pending = new Map<string, (sum: number) => void>();
    const settle = (id: string, sum: number): void => {
      pending.get(id)?.(sum);
      pending.delete(id);
    };
    if (report === "events") {
      const events = opening.adopt(new QueueEvents(name, { connection: connect() }), (open) => open.close());
      events.on("completed", ({ jobId, returnvalue }) => settle(jobId, Number(returnvalue)));
      await events.waitUntilReady();
    }
    const args = [url, name, `${CONCURRENCY}`, `${report === "pipe"}`];
    const started = Array.from({ length: workers }, async () => {
      const child = fork(PROGRAM, args, { execArgv: FLAGS });
      const ended = once(child, "exit");
      opening.defer(async () => {
        if (child.connected) child.disconnect();
        await ended;
      });
      await Promise.race([once(child, "message"), ended]);
      if (!child.connected) throw new Error("a worker of BullMQ has ended");
      child.on("message", (told: Told) => {
        for (const [id, sum] of told) settle(id, sum);
      });
    });
    await Promise.all(started);
    return new BareQueue(queue, adding, pending, opening.move());
  }

  add(index: number): Promise<number> {
    const id = `job-${++this.#last}`;
    if (this.#adding.push({ id, index }) === 1) setImmediate(() => void this.#addAll());
    return new Promise((resolve) => this.#pending.set(id, resolve));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened.disposeAsync();
  }

  async #addAll(): Promise<void> {
    const opts = { removeOnComplete: true, removeOnFail: true };
    const jobs = this.#adding.map(({ id, index }) => ({
      name: "add",
      data: addArguments(index),
      opts: { ...opts, jobId: id },
    }));
    this.#adding = [];
    if (this.#isBulk) await this.#queue.addBulk(jobs);
    else await Promise.all(jobs.map(({ name, data, opts: own }) => this.#queue.add(name, data, own)));
  }
}
