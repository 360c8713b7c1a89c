import { Piscina } from "piscina";
import type { MessagePort } from "node:worker_threads";
import { within } from "../base/deadline.ts";
import { type Prelude, textsOf } from "../base/protocol/prelude.ts";
import { shareTexts } from "../base/protocol/shared-texts.ts";
import type { ServeTask } from "./worker/link.ts";
import type { WorkerSettings } from "./worker/isolation.ts";

/** Heap of a worker thread itself, in MiB: it holds messages in transit, never a tool's objects. */
const WORKER_HEAP_MB = 768;
const CLOSE_MS = 2_000;

export interface WorkerPoolOptions {
  readonly workers: number;
  readonly settings: Omit<WorkerSettings, "prelude" | "parts"> & { readonly prelude: Prelude };
  /** A worker's task ended: with `null` because its link was closed, else because the thread died. */
  readonly onEnd: (worker: number, error: Error | null) => void;
}

/** The worker threads. Piscina manages their lifecycle: each runs one long task that serves one link. */
export class WorkerPool {
  readonly #pool: Piscina;
  readonly #onEnd: WorkerPoolOptions["onEnd"];
  readonly #aborts = new Map<number, AbortController>();
  readonly #tasks = new Set<Promise<void>>();

  constructor({ workers, settings, onEnd }: WorkerPoolOptions) {
    this.#onEnd = onEnd;
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    this.#pool = new Piscina({
      filename: new URL(`./worker/entry.${extension}`, import.meta.url).href,
      minThreads: workers,
      maxThreads: workers,
      idleTimeout: Number.POSITIVE_INFINITY,
      // The default blocks an idle worker's event loop, which stops its timers and messages.
      atomics: "disabled",
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
      workerData: workerSettings(settings),
    });
    // An error of a thread also ends its task, which handles it.
    this.#pool.on("error", () => undefined);
  }

  /** Starts the task of one worker. */
  serve(task: ServeTask, transferList: MessagePort[] = []): void {
    const abort = new AbortController();
    this.#aborts.set(task.worker, abort);
    // The end of an abandoned worker is not reported.
    const emit = (error: Error | null) => {
      if (this.#aborts.get(task.worker) === abort) this.#onEnd(task.worker, error);
    };
    const ended: Promise<void> = this.#pool
      // Piscina expects a list, but its types are derived from the other form of `postMessage`.
      .run(task, { transferList: transferList as never, signal: abort.signal })
      .then(
        () => emit(null),
        (error: unknown) => emit(error instanceof Error ? error : new Error(String(error))),
      )
      .finally(() => this.#tasks.delete(ended));
    this.#tasks.add(ended);
  }

  /** Abandons a worker that does not answer: piscina forgets the thread and starts another in its place. */
  abandon(worker: number): void {
    const abort = this.#aborts.get(worker);
    this.#aborts.delete(worker);
    abort?.abort();
  }

  /** Waits for the tasks, whose links the caller has closed, then ends the threads. */
  async close(): Promise<void> {
    await within(CLOSE_MS, Promise.all(this.#tasks));
    await within(CLOSE_MS, this.#pool.destroy());
  }
}

function workerSettings({ prelude, ...rest }: WorkerPoolOptions["settings"]): WorkerSettings {
  const { parts, ...scripts } = prelude;
  return { ...rest, prelude: scripts, parts: shareTexts(textsOf(parts)) };
}
