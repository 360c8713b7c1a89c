import { type ErrorCode, GloveboxError, toolError } from "../../base/errors.ts";
import type { Failure } from "../../base/protocol/messages.ts";
import type { Inspection, ToolScript } from "../../base/protocol/script.ts";
import { Dispatcher } from "../dispatch/dispatcher.ts";
import type { EmitExecutorEvent, Executor, ExecutorStats, Job, PoolName, Recycling, SandboxMode } from "../executor.ts";
import { LocalCall } from "../dispatch/local-call.ts";
import type { CallOwner, WorkerConnection } from "../dispatch/worker-connection.ts";
import { sumStats } from "../dispatch/worker-registry.ts";
import { type Death, judge } from "./blame.ts";
import type { ChildHandle, ChildOptions } from "./child-handle.ts";
import { ProcessSupervisor } from "./process-supervisor.ts";
import { Quarantine } from "./quarantine.ts";
import { Sandbox } from "./sandbox.ts";

export interface ProcessOptions extends Omit<ChildOptions, "sandbox"> {
  readonly spare: boolean;
  readonly recycle: Recycling;
  readonly sandbox: SandboxMode;
  readonly emit: EmitExecutorEvent;
  readonly nextCallNumber: () => number;
}

/** A supervisor's processes and the dispatcher that sends them calls. */
interface ProcessPool {
  readonly name: PoolName;
  readonly dispatcher: Dispatcher;
  readonly supervisor: ProcessSupervisor;
}

/**
 * Isolates in a supervised child process: the default. Tools cannot crash the host process: the child is killed when a
 * turn cannot be ended otherwise, the culprit gets its error, and all other calls run again in the spare. Tools that
 * crashed a child, and calls suspected of it, run in a separate child: the quarantine. It has one worker, so the
 * culprit of its crash is never in doubt.
 */
export class ProcessExecutor implements Executor {
  readonly kind = "process";
  readonly #options: ProcessOptions;
  readonly #main: ProcessPool;
  readonly #apart: ProcessPool;
  readonly #sandbox: Sandbox;
  readonly #quarantine = new Quarantine();
  #closed = false;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.#sandbox = new Sandbox(options.sandbox);
    this.#main = this.#createPool("main", options.workers, options.spare);
    this.#apart = this.#createPool("quarantine", 1, false);
  }

  async start(): Promise<void> {
    try {
      await this.#sandbox.prepare();
      if (this.#closed) throw new Error("the executor was closed before it had started");
      await this.#main.supervisor.start();
    } catch (error) {
      throw new GloveboxError("executor_lost", error instanceof Error ? error.message : String(error));
    }
  }

  run(job: Job): void {
    this.#admit(job, () => new LocalCall(job, performance.now()));
  }

  cancel(callNumber: number, code: ErrorCode, message: string): void {
    for (const { dispatcher } of this.#pools()) dispatcher.end(callNumber, { code, message });
  }

  /** A crash while a module loads counts against the tool's registration, not against the version in use. */
  inspect(script: ToolScript): Promise<Inspection> {
    const name = registrationOf(script.name);
    const admission = this.#quarantine.admit(name, "");
    switch (admission.kind) {
      case "main":
        return this.#main.dispatcher.inspect(script);
      case "apart":
        if (admission.isProbe) this.#options.emit("tool:probe", { tool: name, tenant: "" });
        this.#openQuarantine();
        return this.#apart.dispatcher.inspect(script).then((inspection) => {
          this.#recordApart(name, "", admission.isProbe, inspection.ok);
          return inspection;
        });
      case "refused": {
        const message = `modules of tool "${script.name}" have ended too many executors`;
        const error = toolError("tool_quarantined", message, { retryAfterMs: admission.retryAfterMs });
        return Promise.resolve({ ok: false, error });
      }
    }
  }

  forget(key: string): void {
    for (const { dispatcher } of this.#pools()) dispatcher.forget(key);
  }

  refusedForMs(tool: string, tenant: string): number {
    return this.#quarantine.refusedForMs(tool, tenant);
  }

  stats(): ExecutorStats {
    const { supervisor } = this.#main;
    return {
      ...sumStats(this.#pools().map(({ dispatcher }) => dispatcher.workers)),
      rssBytes: supervisor.rssBytes + this.#apart.supervisor.rssBytes,
      ready: !this.#closed && supervisor.isReady,
      problem: supervisor.isReady ? null : supervisor.problem,
      spareReady: supervisor.isSpareReady,
      quarantined: this.#quarantine.tools,
      sandbox: this.#sandbox.state,
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const message = "the engine was closed before the call ended";
    for (const { dispatcher } of this.#pools()) dispatcher.close("engine_closed", message);
    await Promise.all(this.#pools().map(({ supervisor }) => supervisor.close()));
  }

  #pools(): readonly ProcessPool[] {
    return [this.#main, this.#apart];
  }

  #createPool(name: PoolName, workers: number, spare: boolean): ProcessPool {
    const { prelude, entropyKey, warmIsolates, rssMaxMb } = this.#options;
    const sandbox = this.#sandbox;
    const dispatcher: Dispatcher = new Dispatcher(
      {
        emit: this.#options.emit,
        onBroken: (connection) => supervisor.owner(connection)?.kill("protocol"),
        onLeft: (connection) => this.#onLeft(connection, pool),
        onInterrupt: (connection, callNumber) => supervisor.owner(connection)?.interrupt(callNumber),
      },
      this.#options.nextCallNumber,
    );
    const supervisor: ProcessSupervisor = new ProcessSupervisor({
      child: { workers, prelude, entropyKey, warmIsolates, rssMaxMb, sandbox },
      spare,
      recycling: this.#options.recycle,
      mayRest: () => name === "quarantine" && dispatcher.isIdle,
      knownBytes: (connections) => dispatcher.workers.knownBytes(connections),
      listener: dispatcher,
      onActive: (active) => this.#onActive(active, pool),
      onLeave: ({ pid, connections }, reason) => {
        this.#options.emit("executor:recycle", { pid, ward: name, reason });
        for (const connection of connections) dispatcher.retire(connection);
      },
      onDeath: (dead, death) => this.#onDeath(dead, death, pool),
      onDelay: (delayMs, cause) =>
        this.#options.emit("executor:delay", { ward: name, delayMs, ...(cause === null ? {} : { cause }) }),
    });
    const pool: ProcessPool = { name, dispatcher, supervisor };
    return pool;
  }

  #openQuarantine(): void {
    if (this.#closed) return;
    // Calls wait for the process to start; if it cannot, they end at their deadlines.
    this.#apart.supervisor.start().catch(() => undefined);
  }

  /** Dispatches a new or moved call to the pool in which it may run. */
  #admit({ script, tenant }: Job, call: () => LocalCall): void {
    const { name } = script;
    const admission = this.#quarantine.admit(name, tenant);
    switch (admission.kind) {
      case "main": {
        const moved = call();
        moved.onEnd = null;
        return this.#main.dispatcher.adopt(moved);
      }
      case "apart": {
        if (admission.isProbe) this.#options.emit("tool:probe", { tool: name, tenant });
        this.#openQuarantine();
        const moved = call();
        moved.onEnd = ({ outcome }) => {
          const isClean = outcome.ok || HARMLESS.has(outcome.failure.code);
          this.#recordApart(name, tenant, admission.isProbe, isClean);
        };
        return this.#apart.dispatcher.adopt(moved);
      }
      case "refused":
        return call().fail({ code: "tool_quarantined", message: `tool "${name}" has ended too many executors` });
    }
  }

  #recordApart(tool: string, tenant: string, isProbe: boolean, isClean: boolean): void {
    if (isProbe) this.#quarantine.endProbe(tool, tenant, isClean);
    if (isClean && this.#quarantine.clean(tool)) this.#options.emit("tool:clear", { tool });
  }

  #onActive({ pid, connections }: ChildHandle, { name, dispatcher }: ProcessPool): void {
    this.#options.emit("executor:start", { pid, ward: name });
    for (const connection of connections) dispatcher.attach(connection);
  }

  /** Ends a leaving process once all of its connections are idle. */
  #onLeft(connection: WorkerConnection, { dispatcher, supervisor }: ProcessPool): void {
    const child = supervisor.owner(connection);
    if (child === null || !child.connections.every(({ isIdle }) => isIdle)) return;
    for (const each of child.connections) dispatcher.detach(each);
    supervisor.release(child);
  }

  #onDeath(child: ChildHandle, death: Death, { name, dispatcher }: ProcessPool): void {
    const { workers } = dispatcher;
    const memoryMbOf = (callNumber: number) => workers.ownerOf(Math.abs(callNumber))?.script.memoryMb ?? 0;
    const verdict = judge(death, name === "quarantine", memoryMbOf);
    const { reason } = verdict;
    const killed = verdict.killed.filter((callNumber) => dispatcher.call(callNumber)?.recordKill() === true);
    const [again] = killed;
    // In quarantine nothing else runs, so the call is the cause.
    const isProved = name === "quarantine" && again !== undefined && killed.length === 1;
    const culprit = isProved ? { callNumber: again, failure: KILLED_AGAIN } : verdict.culprit;
    // The connections still know the owner of a settled call, so this precedes their detachment.
    const owner = culprit === null ? undefined : workers.ownerOf(culprit.callNumber);
    const suspects = new Set([...verdict.suspects, ...killed]);
    const together = new Set(verdict.suspects.map((callNumber) => workers.ownerOf(Math.abs(callNumber))?.script.key));
    if (culprit !== null) dispatcher.endLingering(culprit.callNumber);
    const open = child.connections.flatMap((connection: WorkerConnection) => [...dispatcher.detach(connection)]);
    const others = open.filter((callNumber) => callNumber !== culprit?.callNumber);
    const culprits = owner === undefined ? [] : [owner.script.name];
    const restarted = others.length;
    const cause = death.startError === null ? {} : { cause: death.startError };
    this.#options.emit("executor:lost", { pid: child.pid, ward: name, reason, culprits, restarted, ...cause });
    if (culprit !== null && owner !== undefined) {
      this.#strike(owner);
      const budgetMs = dispatcher.call(culprit.callNumber)?.job.limits.cpuMs ?? 0;
      dispatcher.end(culprit.callNumber, culprit.failure, culprit.failure.code === "cpu_limit" ? budgetMs : 0);
    }
    for (const callNumber of others) {
      const key = dispatcher.call(callNumber)?.job.script.key;
      if (suspects.has(callNumber) || (key !== undefined && together.has(key))) this.#runApart(callNumber, dispatcher);
      else dispatcher.restart(callNumber, "its executor process ended", culprit !== null || reason === "retired");
    }
    if (owner !== undefined && owner.tenant !== null) this.#replace(owner.script.name, owner.tenant);
  }

  /** Runs a suspect again in quarantine. */
  #runApart(callNumber: number, dispatcher: Dispatcher): void {
    const call = dispatcher === this.#main.dispatcher ? dispatcher.release(callNumber) : undefined;
    if (call === undefined) return dispatcher.restart(callNumber, "its executor process ended");
    this.#openQuarantine();
    this.#apart.dispatcher.adoptSuspect(call);
  }

  /**
   * Admits a tool's waiting calls again after one of them crashed a process: they move to quarantine, or are refused
   * for that tenant.
   */
  #replace(tool: string, tenant: string): void {
    const refused = this.#apart.dispatcher.withdraw(tool, tenant);
    for (const call of [...refused, ...this.#main.dispatcher.withdraw(tool)]) this.#admit(call.job, () => call);
  }

  #strike({ script, tenant }: CallOwner): void {
    const tool = tenant === null ? registrationOf(script.name) : script.name;
    const { strikes, openMs } = this.#quarantine.strike(tool, tenant ?? "");
    this.#options.emit("tool:quarantine", { tool, tenant: tenant ?? "", strikes });
    if (openMs > 0) this.#options.emit("tool:refuse", { tool, tenant: tenant ?? "", retryAfterMs: openMs });
  }
}

/** Codes of calls that ran without harm to the process. Calls at a limit may have come close to it. */
const HARMLESS: ReadonlySet<string> = new Set<ErrorCode>([
  "tool_error",
  "invalid_output",
  "output_too_large",
  "capability_denied",
  "capability_failed",
  "capability_limit",
]);

/** The system kills the process that takes its last memory. */
const KILLED_AGAIN: Failure = {
  code: "executor_crashed",
  message: "the process that ran the call was killed again and again, each time in the call's turn",
};

/** The name under which a tool's registrations are quarantined: it is not a valid tool name. */
function registrationOf(tool: string): string {
  return `${tool} (registration)`;
}
