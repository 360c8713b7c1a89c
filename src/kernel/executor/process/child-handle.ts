import { ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import type { AskPipes, ConnectedPipe } from "../../broker/thread/ask-pipe.ts";
import { withoutPaths } from "../../base/errors.ts";
import { writeFilter } from "../../base/os/bubblewrap.ts";
import { openGroup, type ControlGroup } from "../../base/os/cgroup.ts";
import { Descriptors } from "../../base/os/descriptors.ts";
import type { ChildInit, FromChild, ToChild } from "../../base/protocol/control.ts";
import type { Prelude } from "../../base/protocol/prelude.ts";
import { WorkerConnection, type WorkerConnectionListener } from "../dispatch/worker-connection.ts";
import type { Death } from "./blame.ts";
import { pipeTransport } from "./pipe-transport.ts";
import { TurnRecordFile } from "./turn-record-file.ts";
import { executorFlags } from "./permissions.ts";
import { withExecutorLimits } from "../../base/os/rlimits.ts";
import type { Sandbox } from "./sandbox.ts";

export interface ChildOptions {
  readonly workers: number;
  readonly prelude: Prelude;
  readonly entropyKey: string;
  readonly warmIsolates: number;
  /** Time after a message for which neither side sleeps, in milliseconds. */
  readonly spinMs: number;
  readonly rssMaxMb: number;
  readonly sandbox: Sandbox;
  /** Pipes of its workers to the broker. Default: none. */
  readonly pipes?: AskPipes;
  /** Starts a process. Default: a child process. */
  readonly start?: (options: ChildOptions, listener: WorkerConnectionListener) => ExecutorProcess;
}

/** An executor process as its supervisor sees it. */
export type ExecutorProcess = Pick<ChildHandle, keyof ChildHandle>;

/** Starts an executor process. A failure is never thrown: it is a death. */
export function startExecutor(options: ChildOptions, listener: WorkerConnectionListener): ExecutorProcess {
  return options.start?.(options, listener) ?? new ChildHandle(options, listener);
}

const { signals } = constants;
const FIRST_PIPE_FD = 5;
const STDERR_MAX = 8_192;
const START_MS = 20_000;
/** Maximum number of missed heartbeats in a row: five seconds at four a second. */
const BEATS_MISSED_MAX = 20;
const BEAT_CHECK_MS = 250;
/**
 * The whole environment of a process. By default glibc raises its thresholds dynamically and keeps freed memory: tools
 * that end at their memory limit would leave it allocated to the process.
 */
const ENVIRONMENT = {
  TZ: "UTC",
  LANG: "en_US.UTF-8",
  MALLOC_ARENA_MAX: "4",
  MALLOC_MMAP_THRESHOLD_: "131072",
  MALLOC_TRIM_THRESHOLD_: "131072",
};
/**
 * The kernel's limit on the memory of a process, as a share of its ceiling and an addition: the executor's own watch
 * acts first, and ends the process at one and a half times the ceiling. Each thread of a worker, of V8 and of libuv is
 * a task.
 */
const GROUP_MEMORY = { share: 1.5, restMb: 256 } as const;
const GROUP_TASKS = { rest: 128, perWorker: 16 } as const;
const GROUP_CPU_WEIGHT = 100;
const MIB = 1024 * 1024;
/** Time for the outer process to end after the inner one was killed. */
const KILL_MS = 2_000;

/**
 * One executor process as its supervisor sees it. It inherits nothing of this process's environment, and ends by
 * SIGKILL.
 */
class ChildHandle {
  readonly connections: readonly WorkerConnection[];
  /** Resolves when calls can be sent; rejects if the process ends before that. */
  readonly ready: Promise<void>;
  /** Resolves with the evidence when the process has ended. */
  readonly death: Promise<Death>;
  /** The pid of the outermost process, outside the sandbox. */
  readonly pid: number;
  rssBytes = 0;
  readonly #process: ChildProcess;
  readonly #pipes: AskPipes | undefined;
  readonly #asks: readonly (ConnectedPipe | null)[];
  readonly #workers: number;
  readonly #isSandboxed: boolean;
  readonly #turnRecordFile: TurnRecordFile | null;
  /** The kernel's limits on the process and all inside its sandbox. */
  readonly #group: ControlGroup | null;
  #beatTimer: NodeJS.Timeout | null = null;
  #beatsMissed = 0;
  #stderr = "";
  #startError: string | null = null;
  #report: Death["report"] = null;
  #killedFor: Death["killedFor"] = null;

  constructor(options: ChildOptions, listener: WorkerConnectionListener) {
    const { workers, prelude, entropyKey, warmIsolates, spinMs, rssMaxMb, sandbox } = options;
    this.#workers = workers;
    this.#isSandboxed = sandbox.filter !== null;
    this.#turnRecordFile = TurnRecordFile.create();
    this.#group = openGroup("executor", {
      memoryBytes: (rssMaxMb * GROUP_MEMORY.share + GROUP_MEMORY.restMb) * MIB,
      tasks: workers * GROUP_TASKS.perWorker + GROUP_TASKS.rest,
      cpuWeight: GROUP_CPU_WEIGHT,
    });
    this.#pipes = options.pipes;
    this.#asks = Array.from({ length: workers }, () => options.pipes?.connect() ?? null);
    this.#process = this.#start(options);
    // Only the process has the connections now.
    for (const asks of this.#asks) asks?.socket.destroy();
    // Must come first: a process that cannot be started emits `error`, which needs a listener.
    this.death = this.#awaitDeath();
    if (sandbox.filter !== null) writeFilter(this.#pipe(FIRST_PIPE_FD + 2 * workers), sandbox.filter);
    this.pid = this.#process.pid ?? 0;
    this.#process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_MAX);
    });
    this.connections = this.#openConnections(listener, spinMs);
    this.ready = this.#awaitReady();
    // A failed start is reported by `death` as well, so a caller need not handle both.
    this.ready.catch(() => undefined);
    this.#process.on("message", (message: FromChild) => this.#onMessage(message));
    const init: ChildInit = {
      kind: "init",
      workers,
      prelude: sandbox.preludeInside(prelude),
      entropyKey,
      warmIsolates,
      spinMs,
      rssMaxMb,
      firstPipeFd: FIRST_PIPE_FD,
      hellos: this.#asks.map((asks) => asks?.hello ?? null),
      mirrorFd: this.#turnRecordFile === null ? null : FIRST_PIPE_FD - 1,
    };
    if (this.#process.connected) this.#process.send(init, () => undefined);
  }

  /** Whether its workers lack pipes to the broker that a new process would have. */
  get isCutOff(): boolean {
    return this.#pipes?.areWanted === true && this.connections.some(({ asks }) => (asks?.openNumber ?? null) === null);
  }

  /** Gives the messages of its workers to another listener from now on. */
  listen(listener: WorkerConnectionListener): void {
    for (const connection of this.connections) connection.listen(listener);
  }

  /** Ends the turn of a call whose result is no longer needed. */
  interrupt(callNumber: number): void {
    const message: ToChild = { kind: "interrupt", callNumber };
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }

  /** Ends idle isolates: the machine is short of memory. */
  shedIdle(): void {
    const message: ToChild = { kind: "shed" };
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }

  kill(reason: Death["killedFor"]): void {
    this.#killedFor ??= reason;
    if (this.#isSandboxed && killInside(this.pid)) {
      // The outer process ends after the inner one; if it does not, it is killed too.
      setTimeout(() => this.#process.kill("SIGKILL"), KILL_MS).unref();
    } else this.#process.kill("SIGKILL");
  }

  #spawn({ workers, sandbox, prelude: { runtimes } }: ChildOptions): ChildProcess {
    const { filter } = sandbox;
    const filterFd = FIRST_PIPE_FD + 2 * workers;
    const node = [process.execPath, ...executorFlags(runtimes), childEntry()];
    const [file = "", ...args] = withExecutorLimits(sandbox.wrap(node, runtimes, filterFd), this.#group);
    const pipes = Array.from({ length: workers }, () => "pipe" as const);
    const asks = this.#asks.map((each) => each?.socket ?? "ignore");
    using descriptors = new Descriptors([
      "ignore",
      "ignore",
      "pipe",
      "ipc",
      this.#turnRecordFile?.fd ?? "ignore",
      ...pipes,
      ...asks,
      ...(filter === null ? [] : (["pipe"] as const)),
    ]);
    return spawn(file, args, { stdio: descriptors.stdio, env: ENVIRONMENT });
  }

  /**
   * Starts the process. A failure is never thrown, because a supervisor starts processes in timers: it becomes the
   * process's `error`, as Node reports some of them itself, and so a death like any other.
   */
  #start(options: ChildOptions): ChildProcess {
    try {
      return this.#spawn(options);
    } catch (error) {
      const failed = new ChildProcess();
      process.nextTick(() => failed.emit("error", error));
      return failed;
    }
  }

  /** `undefined` if the system could not start the process, contrary to Node's types. */
  #pipe(fd: number): Duplex | undefined {
    const stdio: ChildProcess["stdio"] | undefined = this.#process.stdio;
    return (stdio?.[fd] ?? undefined) as Duplex | undefined;
  }

  /** Empty if the system could not start the process: it has no pipes, and `death` follows at once. */
  #openConnections(listener: WorkerConnectionListener, spinMs: number): WorkerConnection[] {
    const connections: WorkerConnection[] = [];
    for (let worker = 0; worker < this.#workers; worker++) {
      const pipe = this.#pipe(FIRST_PIPE_FD + worker);
      const asks = this.#asks[worker]?.pipe ?? null;
      if (pipe !== undefined)
        connections.push(new WorkerConnection(worker, pipeTransport(pipe), listener, spinMs, asks));
    }
    return connections;
  }

  async #awaitReady(): Promise<void> {
    const timer = setTimeout(() => this.kill("heartbeat"), START_MS);
    const ended = this.death.then((death) => {
      throw new Error(`the executor process ended at its start: ${causeOf(death)}`);
    });
    try {
      // Without a process there are no connections to wait for, and `death` follows.
      if (this.pid === 0) await ended;
      await Promise.race([Promise.all(this.connections.map(({ opened }) => opened)), ended]);
      this.#beatTimer = setInterval(() => this.#checkBeat(), BEAT_CHECK_MS).unref();
    } finally {
      clearTimeout(timer);
    }
  }

  #onMessage(message: FromChild): void {
    switch (message.kind) {
      case "beat":
        this.#beatsMissed = 0;
        this.rssBytes = message.rssBytes;
        return;
      case "overrun":
      case "memory":
      case "worker-lost":
        this.#report ??= message;
        this.kill(null);
    }
  }

  #awaitDeath(): Promise<Death> {
    return new Promise((resolve) => {
      let exitCode: number | null = null;
      let signal: NodeJS.Signals | null = null;
      const settle = () => {
        if (this.#beatTimer !== null) clearInterval(this.#beatTimer);
        const turns = this.#turnRecordFile?.read(this.#workers) ?? null;
        const isMemory = this.#group?.end() ?? false;
        this.#turnRecordFile?.[Symbol.dispose]();
        for (const connection of this.connections) connection.close();
        this.#process.removeAllListeners("message");
        // A process that survived its sandbox during setup ends itself on disconnect.
        if (this.#process.connected) this.#process.disconnect();
        const said = { report: this.#report, startError: this.#startError, stderr: this.#stderr };
        resolve({ ...said, killedFor: this.#killedFor, isMemory, signal, exitCode, turns });
      };
      this.#process.once("error", (error) => {
        // A process that could not be started emits no `exit`.
        if (this.#process.pid !== undefined) return;
        this.#startError = startErrorOf(error);
        settle();
      });
      this.#process.once("exit", (code, by) => {
        signal = by ?? (this.#isSandboxed ? signalInside(code) : null);
        exitCode = signal === null ? code : null;
        settle();
      });
    });
  }

  /** Counts heartbeats instead of time, so that a busy event loop here does not make the child look dead. */
  #checkBeat(): void {
    this.#beatsMissed++;
    if (this.#beatsMissed > BEATS_MISSED_MAX) this.kill("heartbeat");
  }
}

function childEntry(): string {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  return fileURLToPath(new URL(`./child.${extension}`, import.meta.url));
}

/** bubblewrap reports the signal that ended its command in its exit code, as shells do. */
function signalInside(exitCode: number | null): NodeJS.Signals | null {
  const number = (exitCode ?? 0) - 128;
  const found = Object.entries(signals).find(([, each]) => each === number);
  return found === undefined ? null : (found[0] as NodeJS.Signals);
}

/**
 * Kills the first process inside a sandbox, and with it all others there. The outer process, which waits for it, ends
 * afterwards. In the opposite order the inner process could survive as an orphan.
 */
function killInside(outerPid: number): boolean {
  try {
    // The outer process has not been reaped yet, so its children's pids cannot have been reused.
    const children = readFileSync(`/proc/${outerPid}/task/${outerPid}/children`, "utf8").trim();
    if (children === "") return false;
    for (const pid of children.split(" ")) process.kill(Number(pid), "SIGKILL");
    return true;
  } catch {
    return false;
  }
}

/** Errors of the system for a process that may open too few files: a number above its limit is invalid. */
const FEW_FILES: ReadonlySet<unknown> = new Set(["EINVAL", "EMFILE"]);

function startErrorOf(error: Error): string {
  const isOfFiles = "code" in error && FEW_FILES.has(error.code);
  const remedy = isOfFiles ? "; raise the limit of open files (ulimit -n) to 1,024 or more" : "";
  return `${withoutPaths(error.message)}${remedy}`;
}

/** The reason why a process ended at its start, in one line for the operator, without paths and stacks of the host. */
export function causeOf({ startError, stderr, exitCode, report }: Death): string {
  const [line = ""] = [
    startError,
    stderr.split("\n").find((text) => /error|^bwrap:/i.test(text)),
    report?.kind === "worker-lost" ? report.error : undefined,
  ].filter((each) => typeof each === "string");
  return withoutPaths(line) || `exit code ${exitCode}`;
}
