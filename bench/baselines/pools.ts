/** The peers' side of every comparison: worker threads without isolates, and the hand-made sandboxes. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { Piscina } from "piscina";
import { END } from "../tools.ts";

/** Piscina 5 as it comes: a worker gets its next task when it has answered the last one. */
export const PISCINA = "piscina no-op";
/** The same, except that sixteen tasks may be on their way to a worker. */
export const PISCINA_TUNED = "piscina no-op tuned";
/** One message for a call and one for its answer, and no pool. */
export const MESSAGES = "raw worker no-op";
/** Piscina and isolated-vm with one context for all calls. */
export const HAND_MADE_WARM = "hand-made, warm context";
/** The same with a fresh context for each call. */
export const HAND_MADE_FRESH = "hand-made, fresh context";

const TUNED_TASKS = 16;

const filenameOf = (worker: string): string => new URL(worker, import.meta.url).href;

function openPool(worker: string, threads: number, options: { readonly concurrentTasksPerWorker?: number } = {}) {
  return new Piscina({ ...options, minThreads: threads, maxThreads: threads, filename: filenameOf(worker) });
}

export function openPiscina(threads = 1): Piscina {
  return openPool("./noop-worker.ts", threads);
}

export function openPiscinaTuned(): Piscina {
  return openPool("./noop-worker.ts", 1, { concurrentTasksPerWorker: TUNED_TASKS });
}

export function openHandMade(context: "warm" | "fresh", threads = 1): Piscina {
  return openPool(`./hand-made-${context}-worker.ts`, threads);
}

/** Every thread has to give up its own isolate. Each has room for one task, so that as many tasks reach all of them. */
export async function closeHandMade(pool: Piscina): Promise<void> {
  await Promise.all(pool.threads.map(() => pool.run(END)));
  await pool.destroy();
}

/** A worker thread that answers messages in order with what they hold. */
export class MessageWorker implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #waiting: ((answer: unknown) => void)[] = [];

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on("message", (answer: unknown) => this.#waiting.shift()?.(answer));
  }

  static async start(): Promise<MessageWorker> {
    const worker = new Worker(new URL("./message-worker.ts", import.meta.url));
    await once(worker, "online");
    return new MessageWorker(worker);
  }

  run(message: unknown): Promise<unknown> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#worker.postMessage(message);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
