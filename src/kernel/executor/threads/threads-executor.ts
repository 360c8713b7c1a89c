import { setFlagsFromString } from "node:v8";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { type ErrorCode, withoutPaths } from "../../base/errors.ts";
import type { AskPipes } from "../../broker/thread/ask-pipe.ts";
import type { Prelude } from "../../base/protocol/prelude.ts";
import type { Inspection, ToolScript } from "../../base/protocol/script.ts";
import { holdingsBuffer } from "../../base/protocol/holdings.ts";
import { PortBell, portBellBuffer } from "../../base/protocol/port-bell.ts";
import { turnRecordBuffer } from "../../base/protocol/turn-record.ts";
import { Dispatcher } from "../dispatch/dispatcher.ts";
import type { EmitExecutorEvent, Executor, ExecutorStats, Job, SandboxState } from "../executor.ts";
import { type Transport, WorkerConnection } from "../dispatch/worker-connection.ts";
import { sumStats } from "../dispatch/worker-registry.ts";
import { Backoff } from "../process/backoff.ts";
import { V8_FLAGS } from "../process/permissions.ts";
import { TurnWatch } from "../watch.ts";
import { WorkerPool } from "../worker-pool.ts";
import { beforeProcessEnds } from "./process-end.ts";

export interface ThreadsOptions {
  readonly workers: number;
  readonly prelude: Prelude;
  readonly entropyKey: string;
  readonly warmIsolates: number;
  /** Time after a message for which neither side sleeps, in milliseconds. */
  readonly spinMs: number;
  readonly emit: EmitExecutorEvent;
  /** Pipes of its workers to the broker. Default: none. */
  readonly pipes?: AskPipes;
  readonly nextCallNumber: () => number;
}

const NO_SANDBOX: SandboxState = { kind: "off", reason: "threads of this process cannot have one" };

/**
 * Isolates on threads of this process: the fastest executor, for tools that are trusted not to attack V8 itself. A
 * thread is no crash boundary: a V8 abort ends this process, and a turn that V8 cannot interrupt occupies its thread
 * and a CPU until this process ends.
 */
export class ThreadsExecutor implements Executor {
  readonly kind = "threads";
  readonly #pool: WorkerPool;
  readonly #dispatcher: Dispatcher;
  readonly #watch: TurnWatch;
  readonly #connections: (WorkerConnection | null)[];
  readonly #bells: PortBell[] = [];
  readonly #atProcessEnd: Disposable;
  readonly #emit: EmitExecutorEvent;
  readonly #spinMs: number;
  readonly #pipes: AskPipes | undefined;
  readonly #backoff = new Backoff();
  readonly #restarts = new Set<NodeJS.Timeout>();
  #closed = false;

  constructor(options: ThreadsOptions) {
    // The flags apply to the whole process.
    for (const flag of V8_FLAGS) setFlagsFromString(flag);
    const { workers, prelude, entropyKey, warmIsolates, spinMs } = options;
    this.#spinMs = spinMs;
    this.#emit = options.emit;
    this.#pipes = options.pipes;
    const turnRecord = turnRecordBuffer(workers);
    this.#dispatcher = new Dispatcher(
      {
        emit: options.emit,
        onBroken: (connection) => this.#replace(connection, "protocol"),
        onLeft: () => undefined,
        onInterrupt: (_connection, callNumber) => this.#watch.interrupt(callNumber),
      },
      options.nextCallNumber,
    );
    this.#pool = new WorkerPool({
      workers,
      settings: { prelude, entropyKey, turnRecord, holdings: holdingsBuffer(workers), warmIsolates, spinMs },
      onEnd: (worker, error) => {
        const connection = this.#connections[worker];
        if (error !== null && connection) this.#replace(connection, "crash", false, error);
      },
    });
    this.#watch = new TurnWatch(turnRecord, {
      overrun: (callNumber, cpuMs) => this.#onOverrun(callNumber, cpuMs),
      memory: () => undefined,
    });
    this.#connections = Array.from({ length: workers }, () => null);
    // A process cannot end while a thread is in a turn. And a thread must not end before its isolates: isolated-vm
    // then writes to memory of the thread that is free again.
    this.#atProcessEnd = beforeProcessEnds({
      order: () => {
        for (const bell of this.#bells) bell.hurry();
        this.#endWorkers();
      },
      await: (untilMs) => {
        for (const bell of this.#bells) bell.awaitEnd(untilMs);
      },
    });
  }

  async start(): Promise<void> {
    for (let worker = 0; worker < this.#connections.length; worker++) this.#openConnection(worker);
  }

  run(job: Job): void {
    this.#dispatcher.run(job);
  }

  cancel(callNumber: number, code: ErrorCode, message: string): void {
    this.#dispatcher.end(callNumber, { code, message });
  }

  watch(callNumber: number): void {
    this.#dispatcher.watch(callNumber);
  }

  inspect(script: ToolScript): Promise<Inspection> {
    return this.#dispatcher.inspect(script);
  }

  forget(key: string): void {
    this.#dispatcher.forget(key);
  }

  withdraw(key: string): void {
    // Workers get the script of a waiting call again.
    this.forget(key);
  }

  refusedForMs(): number {
    return 0;
  }

  mayShareWorker(): boolean {
    return true;
  }

  trustGroup(): null {
    return null;
  }

  stats(): ExecutorStats {
    return {
      ...sumStats([this.#dispatcher.workers]),
      rssBytes: process.memoryUsage.rss(),
      ready: !this.#closed,
      spareReady: false,
      quarantined: [],
      sandbox: NO_SANDBOX,
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const timer of this.#restarts) clearTimeout(timer);
    this.#dispatcher.close("engine_closed", "the engine was closed before the call ended");
    this.#endWorkers();
    await this.#pool.close();
    this.#atProcessEnd[Symbol.dispose]();
  }

  /** Ends all turns, and has the workers dispose of their isolates. May be called again. */
  #endWorkers(): void {
    this.#watch[Symbol.dispose]();
    for (const connection of this.#connections) connection?.close();
  }

  #openConnection(worker: number): void {
    const { port1, port2 } = new MessageChannel();
    const buffer = portBellBuffer();
    const bell = new PortBell(buffer);
    this.#bells[worker] = bell;
    const transport = portChannel(port1, bell);
    const asks = this.#pipes?.channel() ?? null;
    const connection = new WorkerConnection(worker, transport, this.#dispatcher, this.#spinMs, asks?.pipe);
    this.#connections[worker] = connection;
    const broker = asks === null ? null : ({ kind: "port", port: asks.port } as const);
    const ports = asks === null ? [port2] : [port2, asks.port];
    this.#pool.serve({ worker, link: { kind: "port", port: port2, bell: buffer }, broker }, ports);
    this.#dispatcher.attach(connection);
  }

  #openSoon(worker: number, delayMs: number): void {
    if (delayMs === 0) return this.#openConnection(worker);
    this.#connections[worker] = null;
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      this.#openConnection(worker);
    }, delayMs);
    this.#restarts.add(timer);
  }

  #onOverrun(callNumber: number, cpuMs: number): void {
    const connection = this.#dispatcher.workers.connectionOf(Math.abs(callNumber));
    if (connection === undefined) return;
    // Calls of a shared turn start again, each alone: then the culprit is certain.
    const limits = callNumber < 0 ? undefined : this.#dispatcher.call(callNumber)?.job.limits;
    if (limits !== undefined) {
      const message = `the call used more than ${limits.cpuMs} ms of processor time (limits.cpuMs) and could not be interrupted`;
      this.#dispatcher.end(callNumber, { code: "cpu_limit", message }, cpuMs);
    }
    const isKnown = limits !== undefined || this.#dispatcher.endLingering(callNumber);
    this.#replace(connection, "overrun", isKnown);
  }

  /** Abandons a worker and restarts its calls. `isKnown`: the culprit is known. `error`: of a thread that ended. */
  #replace(
    connection: WorkerConnection,
    reason: "overrun" | "crash" | "protocol",
    isKnown = false,
    error: Error | null = null,
  ): void {
    if (this.#closed || this.#connections[connection.worker] !== connection) return;
    const open = this.#dispatcher.detach(connection);
    const cause = error === null ? {} : { cause: withoutPaths(error.message) };
    this.#emit("executor:lost", {
      pid: process.pid,
      ward: "main",
      group: "all",
      reason,
      culprits: [],
      restarted: open.length,
      ...cause,
    });
    connection.close();
    this.#pool.abandon(connection.worker);
    const delayMs = this.#backoff.lost(true);
    if (delayMs > 0) this.#emit("executor:delay", { ward: "main", group: "all", delayMs, ...cause });
    this.#openSoon(connection.worker, delayMs);
    for (const callNumber of open) this.#dispatcher.restart(callNumber, "its worker thread was given up", isKnown);
  }
}

/** A port's transport, which rings the bell after every operation: a sleeping thread wakes only for the bell. */
function portChannel(port: MessagePort, bell: PortBell): Transport {
  return {
    write: (text) => {
      port.postMessage(text);
      bell.ring();
    },
    onText: (handler) => void port.on("message", handler),
    close: () => {
      // A worker notices a closed port by this side's event loop, which no longer runs when the process ends.
      bell.close();
      port.postMessage("");
      port.close();
      bell.ring();
    },
  };
}
