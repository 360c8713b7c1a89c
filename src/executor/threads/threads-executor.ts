import { setFlagsFromString } from "node:v8";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { ErrorCode } from "../../errors.ts";
import type { Inspection, ToolScript } from "../../protocol/script.ts";
import { turnRecordBuffer } from "../../protocol/turn-record.ts";
import { Dispatcher } from "../dispatcher.ts";
import type { Executor, ExecutorEvent, ExecutorStats, Job, Reply } from "../executor.ts";
import { type Channel, Lane } from "../lane.ts";
import { collectStats } from "../stats.ts";
import { Watch } from "../watch.ts";
import { WorkerPool } from "../worker-pool.ts";

export interface ThreadsOptions {
  readonly workers: number;
  readonly prelude: string;
  readonly entropyKey: string;
  readonly warmIsolates: number;
  readonly onEvent: (event: ExecutorEvent) => void;
  readonly nextRun: () => number;
}

/**
 * Isolates on threads of this process: the fastest executor, for tools that are trusted not to attack V8 itself.
 * A thread is no boundary for a crash: what aborts V8 ends this process, and a turn that V8 cannot end keeps its
 * thread, and a processor, until this process ends.
 */
export class ThreadsExecutor implements Executor {
  readonly kind = "threads";
  readonly #pool: WorkerPool;
  readonly #dispatcher: Dispatcher;
  readonly #watch: Watch;
  readonly #lanes: (Lane | null)[];
  readonly #onEvent: (event: ExecutorEvent) => void;
  #closed = false;

  constructor(options: ThreadsOptions) {
    // Without this V8 compiles some ordinary loops so that nothing can interrupt them.
    setFlagsFromString("--no-turboshaft-loop-unrolling");
    const { workers, prelude, entropyKey, warmIsolates } = options;
    this.#onEvent = options.onEvent;
    const turnRecord = turnRecordBuffer(workers);
    this.#dispatcher = new Dispatcher(
      {
        onBatch: (size) => options.onEvent({ kind: "batch", size }),
        onBroken: (lane) => this.#replace(lane, "protocol"),
      },
      options.nextRun,
    );
    this.#pool = new WorkerPool({
      workers,
      settings: { prelude, entropyKey, turnRecord, warmIsolates },
      onEnd: (worker, error) => {
        const lane = this.#lanes[worker];
        if (error !== null && lane) this.#replace(lane, "crash");
      },
    });
    this.#watch = new Watch(turnRecord, 0, {
      overrun: (run, elapsedMs) => this.#onOverrun(run, elapsedMs),
      memory: () => undefined,
    });
    this.#lanes = Array.from({ length: workers }, () => null);
  }

  async start(): Promise<void> {
    for (let worker = 0; worker < this.#lanes.length; worker++) this.#openLane(worker);
  }

  run(job: Job): Promise<Reply> {
    return this.#dispatcher.run(job);
  }

  cancel(run: number, code: ErrorCode, message: string): void {
    this.#dispatcher.end(run, { code, message });
  }

  inspect(script: ToolScript): Promise<Inspection> {
    return this.#dispatcher.inspect(script);
  }

  forget(key: string): void {
    this.#dispatcher.forget(key);
  }

  refusedForMs(): number {
    return 0;
  }

  stats(): ExecutorStats {
    return collectStats([this.#dispatcher], process.memoryUsage.rss(), !this.#closed, []);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#dispatcher.close("engine_closed", "the engine was closed before the call ended");
    this.#watch[Symbol.dispose]();
    for (const lane of this.#lanes) lane?.close();
    await this.#pool.close();
  }

  #openLane(worker: number): void {
    const { port1, port2 } = new MessageChannel();
    const lane = new Lane(worker, portChannel(port1), this.#dispatcher);
    this.#lanes[worker] = lane;
    this.#pool.serve({ worker, link: { kind: "port", port: port2 } }, [port2]);
    this.#dispatcher.attach(lane);
  }

  #onOverrun(run: number, elapsedMs: number): void {
    const flight = this.#dispatcher.flight(Math.abs(run));
    const lane = flight?.lane;
    if (!flight || !lane) return;
    // Calls that went together start again, each alone: then there is no doubt.
    if (run < 0) return this.#replace(lane, "overrun");
    const { cpuMs } = flight.job.limits;
    const message = `the call used more than ${cpuMs} ms of processor time and could not be interrupted`;
    this.#dispatcher.end(run, { code: "cpu_limit", message }, elapsedMs);
    this.#replace(lane, "overrun");
  }

  /** Gives up a worker, and starts the calls that it leaves behind again on the others. */
  #replace(lane: Lane, reason: "overrun" | "crash" | "protocol"): void {
    if (this.#closed || this.#lanes[lane.worker] !== lane) return;
    this.#onEvent({ kind: "lost", reason, culprits: [] });
    const open = this.#dispatcher.detach(lane);
    lane.close();
    this.#pool.abandon(lane.worker);
    this.#openLane(lane.worker);
    for (const run of open) this.#dispatcher.restart(run, "its worker thread was given up");
  }
}

function portChannel(port: MessagePort): Channel {
  return {
    isPiecemeal: true,
    write: (text) => port.postMessage(text),
    onText: (handler) => void port.on("message", handler),
    close: () => port.close(),
  };
}
