import { holdingsBuffer, WorkerHoldings } from "../../src/kernel/base/protocol/holdings.ts";
import { LineReader, MESSAGE_MAX } from "../../src/kernel/base/protocol/line-reader.ts";
import { readTurns, turnRecordBuffer, TurnSlot } from "../../src/kernel/base/protocol/turn-record.ts";
import type { ConnectedPipe } from "../../src/kernel/broker/thread/ask-pipe.ts";
import type { WorkerConnectionListener } from "../../src/kernel/executor/dispatch/worker-connection.ts";
import { WorkerConnection } from "../../src/kernel/executor/dispatch/worker-connection.ts";
import type { Death } from "../../src/kernel/executor/process/blame.ts";
import { causeOf, type ChildOptions, type ExecutorProcess } from "../../src/kernel/executor/process/child-handle.ts";
import type { WorkerSettings } from "../../src/kernel/executor/worker/isolation.ts";
import { WorkerSession } from "../../src/kernel/executor/worker/worker-session.ts";
import type { SimSocket } from "./brokers.ts";
import type { Effects } from "./effects.ts";
import { type HarmedProcess, scriptedIsolation } from "./isolates.ts";
import { SimPipe } from "./pipe.ts";
import { SimThread, type World } from "./world.ts";

/** Executor processes of a simulation. */
export class SimProcesses {
  readonly living = new Set<SimProcess>();
  readonly #world: World;
  #started = 0;
  /** Whether what a lost process wrote last may be torn. */
  readonly isTorn: boolean;
  readonly effects: Effects;
  /** The thread of the engine. */
  readonly main: SimThread;

  constructor(world: World, effects: Effects, isTorn: boolean, main = world.main) {
    this.#world = world;
    this.main = main;
    this.effects = effects;
    this.isTorn = isTorn;
  }

  readonly start = (options: ChildOptions, listener: WorkerConnectionListener): ExecutorProcess => {
    const process = new SimProcess(this.#world, ++this.#started, options, listener, this);
    this.living.add(process);
    return process;
  };
}

/** An executor process: threads with the product's `WorkerSession`, and pipes that end with it. */
export class SimProcess implements ExecutorProcess, HarmedProcess {
  readonly connections: readonly WorkerConnection[];
  readonly ready: Promise<void>;
  readonly death: Promise<Death>;
  readonly pid: number;
  readonly rssBytes = 0;
  readonly workers: readonly SimWorker[];
  readonly #world: World;
  readonly #processes: SimProcesses;
  readonly #pipes: ChildOptions["pipes"];
  readonly #record: SharedArrayBuffer;
  readonly #die: (death: Death) => void;
  #report: Death["report"] = null;
  #killedFor: Death["killedFor"] = null;
  #isDead = false;

  constructor(
    world: World,
    pid: number,
    options: ChildOptions,
    listener: WorkerConnectionListener,
    processes: SimProcesses,
  ) {
    this.#world = world;
    this.#processes = processes;
    this.pid = pid;
    this.#pipes = options.pipes;
    this.#record = turnRecordBuffer(options.workers);
    const { promise, resolve } = Promise.withResolvers<Death>();
    this.death = promise;
    this.#die = resolve;
    const holdings = holdingsBuffer(options.workers);
    const settings: WorkerSettings = {
      prelude: options.prelude,
      parts: {} as WorkerSettings["parts"],
      entropyKey: options.entropyKey,
      turnRecord: this.#record,
      holdings,
      warmIsolates: options.warmIsolates,
      spinMs: 0,
    };
    this.workers = Array.from(
      { length: options.workers },
      (_, at) => new SimWorker(world, at, this, settings, options.pipes?.connect() ?? null),
    );
    this.connections = this.workers.map((worker) => worker.connect(listener));
    this.ready = this.#awaitReady();
    this.ready.catch(() => undefined);
    const startMs = world.random.between(3, 30);
    for (const worker of this.workers) world.later(worker.thread, startMs, "starts", () => worker.begin());
  }

  get main(): SimThread {
    return this.#processes.main;
  }

  get isCutOff(): boolean {
    return this.#pipes?.areWanted === true && this.connections.some(({ asks }) => (asks?.openNumber ?? null) === null);
  }

  listen(listener: WorkerConnectionListener): void {
    for (const connection of this.connections) connection.listen(listener);
  }

  begin(callNumber: number, seed: number): void {
    this.#processes.effects.begin(callNumber, seed);
  }

  interrupt(): void {}
  shedIdle(): void {}

  kill(reason: Death["killedFor"]): void {
    this.#killedFor ??= reason;
    this.end("SIGKILL");
  }

  crash(kind: "crash" | "hang", callNumber: number): void {
    if (kind === "crash") return this.end("SIGSEGV");
    // The watch reports the turn, and the supervisor kills the process.
    for (const { thread } of this.workers) thread.busyUntilMs = Number.POSITIVE_INFINITY;
    this.#report = { kind: "overrun", callNumber, cpuMs: 1_000 };
    this.end("SIGKILL");
  }

  /** The process ends now, in whatever it is at; the supervisor hears of it later. */
  end(signal: NodeJS.Signals): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#processes.living.delete(this);
    const world = this.#world;
    if (world.trace !== null) world.note(`process ${this.pid} ends by ${signal}`);
    const turns = readTurns(this.#record);
    for (const worker of this.workers) worker.end(this.#processes.isTorn && world.random.chance(0.5));
    world.later(this.#processes.main, world.random.between(0.05, 4), `process ${this.pid} has ended`, () => {
      for (const connection of this.connections) connection.close();
      const said = { report: this.#report, startError: null, stderr: "" };
      this.#die({ ...said, killedFor: this.#killedFor, isMemory: false, signal, exitCode: null, turns });
    });
  }

  async #awaitReady(): Promise<void> {
    const ended = this.death.then((death) => {
      throw new Error(`the executor process ended at its start: ${causeOf(death)}`);
    });
    await Promise.race([Promise.all(this.connections.map(({ opened }) => opened)), ended]);
  }
}

/** A worker thread with its two pipes. */
class SimWorker {
  readonly thread: SimThread;
  readonly #world: World;
  readonly #at: number;
  readonly #process: SimProcess;
  readonly #settings: WorkerSettings;
  readonly #asks: ConnectedPipe | null;
  #session: WorkerSession | null = null;
  #toHost: SimPipe | null = null;
  #toWorker: SimPipe | null = null;

  constructor(world: World, at: number, process: SimProcess, settings: WorkerSettings, asks: ConnectedPipe | null) {
    this.thread = new SimThread(`worker ${process.pid}.${at}`);
    this.#world = world;
    this.#at = at;
    this.#process = process;
    this.#settings = settings;
    this.#asks = asks;
  }

  /** Whether no call is left on it. */
  get isIdle(): boolean {
    return this.#session?.isIdle !== false;
  }

  connect(listener: WorkerConnectionListener): WorkerConnection {
    const { thread } = this;
    const reader = new LineReader(MESSAGE_MAX);
    // The host sends nothing before it has heard from the worker.
    const onText = (text: string): void => {
      if (this.#session !== null) this.#hear(this.#session, reader, text);
    };
    const toWorker = new SimPipe(this.#world, "calls:", { thread, onText, onClose: () => undefined });
    this.#toWorker = toWorker;
    return new WorkerConnection(
      this.#at,
      {
        write: (text) => toWorker.write(text),
        onText: (handler) => {
          const host = { thread: this.#process.main, onText: handler, onClose: () => undefined };
          this.#toHost = new SimPipe(this.#world, `${thread.name}:`, host);
        },
        close: () => {
          toWorker.end();
          this.#toHost?.close();
        },
      },
      listener,
      0,
      this.#asks?.pipe ?? null,
    );
  }

  #hear(session: WorkerSession, reader: LineReader, text: string): void {
    reader.push(text, (line) => session.onLine(line));
    session.onPause();
  }

  begin(): void {
    const world = this.#world;
    const slot = new TurnSlot(this.#settings.turnRecord, this.#at, undefined);
    const holdings = new WorkerHoldings(this.#settings.holdings, this.#at);
    const { socket: given, hello = "" } = this.#asks ?? {};
    const socket = given === undefined ? null : (given as unknown as SimSocket);
    const reader = new LineReader(MESSAGE_MAX);
    socket?.write(`${hello}\n`);
    const session = new WorkerSession(
      this.#settings,
      slot,
      holdings,
      {
        toHost: (text) => this.#toHost?.write(text),
        toBroker: socket === null ? null : (text) => socket.write(text),
      },
      scriptedIsolation(world, this.#process),
    );
    this.#session = session;
    socket?.serve(this.thread, {
      onText: (text) => this.#hear(session, reader, text),
      onClose: () => session.onBrokerLost(),
    });
  }

  end(isTorn: boolean): void {
    this.thread.kill();
    this.#toHost?.end(isTorn);
    this.#toWorker?.close();
    (this.#asks?.socket as unknown as SimSocket | undefined)?.end(isTorn);
  }
}
