import { type ErrorCode, toolError } from "../../base/errors.ts";
import type { Failure } from "../../base/protocol/messages.ts";
import type { Inspection, ToolScript, ToolVersion } from "../../base/protocol/script.ts";
import { Dispatcher } from "../dispatch/dispatcher.ts";
import type { EmitExecutorEvent, Job, PoolName, Recycling } from "../executor.ts";
import { LocalCall } from "../dispatch/local-call.ts";
import type { CallOwner, WorkerConnection } from "../dispatch/worker-connection.ts";
import type { WorkerRegistry } from "../dispatch/worker-registry.ts";
import { type Death, judge } from "./blame.ts";
import type { ChildOptions, ExecutorProcess } from "./child-handle.ts";
import { ProcessSupervisor } from "./process-supervisor.ts";
import { Quarantine } from "./quarantine.ts";
import type { SpareProcess } from "./spare-process.ts";

export interface GroupProcessesOptions extends ChildOptions {
  /** Its name in the trust groups of the engine. */
  readonly group: string;
  /** The process in reserve; `null`: none is kept. */
  readonly spare: SpareProcess | null;
  readonly recycle: Recycling;
  /** Time after which its unused process ends; `null`: it never ends. */
  readonly restAfterMs: number | null;
  readonly emit: EmitExecutorEvent;
  readonly nextCallNumber: () => number;
}

/** Time after which an unused process of a quarantine ends. */
const QUARANTINE_REST_MS = 5_000;

/** A supervisor's processes and the dispatcher that sends them calls. */
interface ProcessPool {
  readonly name: PoolName;
  readonly dispatcher: Dispatcher;
  readonly supervisor: ProcessSupervisor;
}

/**
 * The processes of one trust group. Tools cannot crash the host process: the child is killed if a turn cannot be ended
 * otherwise, the culprit gets its error, and all other calls run again in the next process. Tools that crashed a child,
 * and calls suspected of it, run in separate children: the quarantine. Each has one worker, so the culprit of its crash
 * is never in doubt. One is for tenants whose own calls crashed, and for suspects; the other for all other tenants of
 * such tools, so that they do not start again with each further crash.
 */
export class GroupProcesses {
  readonly #options: GroupProcessesOptions;
  readonly #main: ProcessPool;
  readonly #apart: ProcessPool;
  readonly #watched: ProcessPool;
  readonly #quarantine = new Quarantine();
  #closed = false;

  constructor(options: GroupProcessesOptions) {
    this.#options = options;
    const { workers, spare, restAfterMs } = options;
    this.#main = this.#createPool("main", workers, spare, restAfterMs);
    this.#apart = this.#createPool("quarantine", 1, null, QUARANTINE_REST_MS);
    this.#watched = this.#createPool("quarantine", 1, null, QUARANTINE_REST_MS);
  }

  get name(): string {
    return this.#options.group;
  }

  /** Resolves when a process serves calls; rejects if that is impossible. */
  start(): Promise<void> {
    return this.#main.supervisor.start();
  }

  get isReady(): boolean {
    return !this.#closed && this.#main.supervisor.isReady;
  }

  /** The cause of the last failed start; `null` after a successful one. */
  get problem(): string | null {
    return this.#main.supervisor.problem;
  }

  get rssBytes(): number {
    return this.#pools().reduce((sum, { supervisor }) => sum + supervisor.rssBytes, 0);
  }

  /** Processes that serve calls or end their last ones. */
  get pids(): readonly number[] {
    return this.#pools().flatMap(({ supervisor }) => supervisor.pids);
  }

  get workers(): readonly WorkerRegistry[] {
    return this.#pools().map(({ dispatcher }) => dispatcher.workers);
  }

  get quarantined(): readonly string[] {
    return this.#quarantine.tools;
  }

  run(job: Job): void {
    this.#admit(job, () => new LocalCall(job, performance.now()));
  }

  cancel(callNumber: number, code: ErrorCode, message: string): void {
    for (const { dispatcher } of this.#pools()) dispatcher.end(callNumber, { code, message });
  }

  watch(callNumber: number): void {
    for (const { dispatcher } of this.#pools()) dispatcher.watch(callNumber);
  }

  /** A crash while a module loads counts against the tool's registration, not against the version in use. */
  inspect(script: ToolScript): Promise<Inspection> {
    const tool = registrationOf(script);
    const admission = this.#quarantine.admit(tool, "");
    switch (admission.kind) {
      case "main":
        this.#wake(this.#main);
        return this.#main.dispatcher.inspect(script);
      case "apart": {
        if (admission.isProbe) this.#options.emit("tool:probe", { tool: tool.name, tenant: "" });
        const pool = this.#quarantineOf(admission.isOwn);
        return pool.dispatcher.inspect(script).then((inspection) => {
          this.#recordApart(tool, "", admission.isProbe, inspection.ok);
          return inspection;
        });
      }
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

  /** Whether calls of the tool have ended processes. */
  suspects(tool: ToolVersion): boolean {
    return this.#quarantine.knows(tool);
  }

  refusedForMs(tool: ToolVersion, tenant: string): number {
    return this.#quarantine.refusedForMs(tool, tenant);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const message = "the engine was closed before the call ended";
    for (const { dispatcher } of this.#pools()) dispatcher.close("engine_closed", message);
    await Promise.all(this.#pools().map(({ supervisor }) => supervisor.close()));
  }

  /** Records that the process in reserve died before a group took it. */
  recordSpareDeath(child: ExecutorProcess, death: Death): void {
    this.#onDeath(child, death, this.#main);
  }

  #pools(): readonly ProcessPool[] {
    return [this.#main, this.#apart, this.#watched];
  }

  #createPool(name: PoolName, workers: number, spare: SpareProcess | null, restAfterMs: number | null): ProcessPool {
    const { group } = this.#options;
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
      child: { ...this.#options, workers },
      spare,
      recycling: this.#options.recycle,
      isIdle: () => dispatcher.isIdle,
      restAfterMs,
      knownBytes: (connections) => dispatcher.workers.knownBytes(connections),
      listener: dispatcher,
      onActive: (active) => this.#onActive(active, pool),
      onLeave: ({ pid, connections }, reason) => {
        this.#options.emit("executor:recycle", { pid, ward: name, group, reason });
        for (const connection of connections) dispatcher.retire(connection);
      },
      onDeath: (dead, death) => this.#onDeath(dead, death, pool),
      onDelay: (delayMs, cause) =>
        this.#options.emit("executor:delay", { ward: name, group, delayMs, ...(cause === null ? {} : { cause }) }),
    });
    const pool: ProcessPool = { name, dispatcher, supervisor };
    return pool;
  }

  /** Starts a pool's process if it has none. Calls wait for it; if it cannot start, they end at their deadlines. */
  #wake({ supervisor }: ProcessPool): void {
    if (!this.#closed && !supervisor.isAwake) supervisor.start().catch(() => undefined);
  }

  /** `isOwn`: whether the tenant's own calls crashed, or may have. */
  #quarantineOf(isOwn: boolean): ProcessPool {
    const pool = isOwn ? this.#apart : this.#watched;
    this.#wake(pool);
    return pool;
  }

  /** Dispatches a new or moved call to the pool in which it may run. */
  #admit({ script, tenant }: Job, call: () => LocalCall): void {
    const { name } = script;
    const admission = this.#quarantine.admit(script, tenant);
    switch (admission.kind) {
      case "main": {
        this.#wake(this.#main);
        const moved = call();
        moved.onEnd = null;
        return this.#main.dispatcher.adopt(moved);
      }
      case "apart": {
        if (admission.isProbe) this.#options.emit("tool:probe", { tool: name, tenant });
        const pool = this.#quarantineOf(admission.isOwn);
        const moved = call();
        moved.onEnd = ({ outcome }) => {
          const isClean = outcome.ok || HARMLESS.has(outcome.failure.code);
          this.#recordApart(script, tenant, admission.isProbe, isClean);
        };
        return pool.dispatcher.adopt(moved);
      }
      case "refused":
        return call().fail({ code: "tool_quarantined", message: `tool "${name}" has ended too many executors` });
    }
  }

  #recordApart(tool: ToolVersion, tenant: string, isProbe: boolean, isClean: boolean): void {
    if (isProbe) this.#quarantine.endProbe(tool, tenant, isClean);
    if (!isClean) return;
    const clearance = this.#quarantine.clean(tool, tenant);
    if (clearance === "tool") this.#options.emit("tool:clear", { tool: tool.name });
    if (clearance === "none") return;
    const waiting = this.#watched.dispatcher.withdraw(tool.name, clearance === "tenant" ? tenant : undefined);
    for (const call of waiting) this.#admit(call.job, () => call);
  }

  #onActive({ pid, connections }: ExecutorProcess, { name, dispatcher }: ProcessPool): void {
    this.#options.emit("executor:start", { pid, ward: name, group: this.name });
    for (const connection of connections) dispatcher.attach(connection);
  }

  /** Ends a leaving process once all of its connections are idle. */
  #onLeft(connection: WorkerConnection, { dispatcher, supervisor }: ProcessPool): void {
    const child = supervisor.owner(connection);
    if (child === null || !child.connections.every(({ isIdle }) => isIdle)) return;
    for (const each of child.connections) dispatcher.detach(each);
    supervisor.release(child);
  }

  #onDeath(child: ExecutorProcess, death: Death, { name, dispatcher }: ProcessPool): void {
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
    const { pid } = child;
    this.#options.emit("executor:lost", { pid, ward: name, group: this.name, reason, culprits, restarted, ...cause });
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
    this.#quarantineOf(true).dispatcher.adoptSuspect(call);
  }

  /**
   * Admits a tool's waiting calls again after one of a tenant's crashed a process: they move to a quarantine, or are
   * refused for that tenant.
   */
  #replace(tool: string, tenant: string): void {
    const ofTenant = this.#apart.dispatcher.withdraw(tool, tenant);
    const ofAll = [this.#main, this.#watched].flatMap(({ dispatcher }) => dispatcher.withdraw(tool));
    for (const call of busiestFirst([...ofTenant, ...ofAll])) this.#admit(call.job, () => call);
  }

  #strike({ script, tenant }: CallOwner): void {
    const tool = tenant === null ? registrationOf(script) : script;
    const { name } = tool;
    const { strikes, openMs } = this.#quarantine.strike(tool, tenant ?? "");
    this.#options.emit("tool:quarantine", { tool: name, tenant: tenant ?? "", strikes });
    if (openMs > 0) this.#options.emit("tool:refuse", { tool: name, tenant: tenant ?? "", retryAfterMs: openMs });
  }
}

/**
 * Calls in the order of a quarantine. Each tenant's first call may end the process again, so the calls of tenants with
 * many of them do not wait behind single ones of others.
 */
function busiestFirst(calls: readonly LocalCall[]): readonly LocalCall[] {
  const byTenant = Map.groupBy(calls, ({ job }) => job.tenant);
  return [...byTenant.values()].toSorted((a, b) => b.length - a.length).flat();
}

/** Codes of calls that ran without harm to the process. Calls at a limit may have come close to it. */
const HARMLESS: ReadonlySet<string> = new Set<ErrorCode>([
  "tool_error",
  "invalid_output",
  "output_too_large",
  "capability_denied",
  "capability_failed",
  "capability_limit",
  "login_required",
]);

/** The system kills the process that takes its last memory. */
const KILLED_AGAIN: Failure = {
  code: "executor_crashed",
  message: "the process that ran the call was killed again and again, each time in the call's turn",
};

/** A tool's registrations, as the quarantine knows them: their name is not a valid tool name. */
function registrationOf({ name, registrant }: ToolScript): ToolVersion {
  return { name: `${name} (registration)`, ...(registrant === undefined ? {} : { registrant }) };
}
