import { type ErrorCode, GloveboxError, toolError } from "../../base/errors.ts";
import type { Failure } from "../../base/protocol/messages.ts";
import type { Inspection, ToolScript } from "../../base/protocol/script.ts";
import { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Executor, ExecutorStats, Job, Recycling, SandboxMode, EmitExecutorEvent, PoolName } from "../executor.ts";
import { LocalCall } from "../dispatch/local-call.ts";
import type { WorkerConnection } from "../dispatch/worker-connection.ts";
import type { CallOwner } from "../dispatch/work-item.ts";
import { sumUp } from "../stats.ts";
import { type Death, judge } from "./blame.ts";
import type { ChildHandle, ChildOptions } from "./child-handle.ts";
import { ProcessSupervisor } from "./process-supervisor.ts";
import { Quarantine } from "./quarantine.ts";
import { Sandbox } from "./sandbox.ts";

export interface ProcessOptions extends Omit<ChildOptions, "sandbox"> {
  readonly spare: boolean;
  readonly recycle: Recycling;
  readonly sandbox: SandboxMode;
  readonly tell: EmitExecutorEvent;
  readonly nextRun: () => number;
}

/** One crew and the dispatcher that uses its lanes. */
interface Place {
  readonly ward: PoolName;
  readonly dispatcher: Dispatcher;
  readonly crew: ProcessSupervisor;
}

/**
 * Isolates in a supervised child process: the default. Whatever a tool does, this process lives: the child is killed
 * when a turn cannot be ended otherwise, the call to blame gets its error, and all others run again in the spare.
 * Tools that cost a child its life, and calls that may have, run in a child of their own: the quarantine. It has one
 * worker, so whose turn it was when it died is never in doubt.
 */
export class ProcessExecutor implements Executor {
  readonly kind = "process";
  readonly #options: ProcessOptions;
  readonly #main: Place;
  readonly #apart: Place;
  readonly #sandbox: Sandbox;
  readonly #quarantine = new Quarantine();
  #closed = false;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.#sandbox = new Sandbox(options.sandbox);
    this.#main = this.#createPlace("main", options.workers, options.spare);
    this.#apart = this.#createPlace("quarantine", 1, false);
  }

  async start(): Promise<void> {
    try {
      await this.#sandbox.prepare();
      if (this.#closed) throw new Error("the executor was closed before it had started");
      await this.#main.crew.start();
    } catch (error) {
      throw new GloveboxError("executor_lost", error instanceof Error ? error.message : String(error));
    }
  }

  run(job: Job): void {
    this.#place(job, () => new LocalCall(job, performance.now()));
  }

  cancel(run: number, code: ErrorCode, message: string): void {
    for (const { dispatcher } of this.#places()) dispatcher.end(run, { code, message });
  }

  /** What a module does when it is loaded counts for its registrations, and not against the version that is in use. */
  inspect(script: ToolScript): Promise<Inspection> {
    const name = registrationOf(script.name);
    const admission = this.#quarantine.admit(name, "");
    switch (admission.kind) {
      case "main":
        return this.#main.dispatcher.inspect(script);
      case "apart":
        if (admission.isProbe) this.#options.tell("tool:probe", { tool: name, tenant: "" });
        this.#openQuarantine();
        return this.#apart.dispatcher.inspect(script).then((inspection) => {
          this.#noteApart(name, "", admission.isProbe, inspection.ok);
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
    for (const { dispatcher } of this.#places()) dispatcher.forget(key);
  }

  refusedForMs(tool: string, tenant: string): number {
    return this.#quarantine.refusedForMs(tool, tenant);
  }

  stats(): ExecutorStats {
    const { crew } = this.#main;
    return {
      ...sumUp(this.#places().map(({ dispatcher }) => dispatcher.roster)),
      rssBytes: crew.rssBytes + this.#apart.crew.rssBytes,
      ready: !this.#closed && crew.isReady,
      spareReady: crew.isSpareReady,
      quarantined: this.#quarantine.tools,
      sandbox: this.#sandbox.state,
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const message = "the engine was closed before the call ended";
    for (const { dispatcher } of this.#places()) dispatcher.close("engine_closed", message);
    await Promise.all(this.#places().map(({ crew }) => crew.close()));
  }

  #places(): readonly Place[] {
    return [this.#main, this.#apart];
  }

  #createPlace(ward: PoolName, workers: number, spare: boolean): Place {
    const { prelude, entropyKey, warmIsolates, rssMaxMb } = this.#options;
    const sandbox = this.#sandbox;
    const dispatcher: Dispatcher = new Dispatcher(
      {
        tell: this.#options.tell,
        onBroken: (lane) => crew.owner(lane)?.kill("protocol"),
        onLeft: (lane) => this.#onLeft(lane, place),
      },
      this.#options.nextRun,
    );
    const crew: ProcessSupervisor = new ProcessSupervisor({
      child: { workers, prelude, entropyKey, warmIsolates, rssMaxMb, sandbox },
      spare,
      recycling: this.#options.recycle,
      mayRest: () => ward === "quarantine" && dispatcher.isIdle,
      knownBytes: (lanes) => dispatcher.roster.knownBytes(lanes),
      listener: dispatcher,
      onActive: (active) => this.#onActive(active, place),
      onLeave: ({ pid, lanes }, reason) => {
        this.#options.tell("executor:recycle", { pid, ward, reason });
        for (const lane of lanes) dispatcher.retire(lane);
      },
      onDeath: (dead, death) => this.#onDeath(dead, death, place),
      onDelay: (delayMs) => this.#options.tell("executor:delay", { ward, delayMs }),
    });
    const place: Place = { ward, dispatcher, crew };
    return place;
  }

  #openQuarantine(): void {
    if (this.#closed) return;
    // Its calls wait for the process to start; where it cannot, they end at their deadlines.
    this.#apart.crew.start().catch(() => undefined);
  }

  /** Sends a call where it may run, as a new one or as the one it is already. */
  #place({ script, tenant }: Job, flight: () => LocalCall): void {
    const { name } = script;
    const admission = this.#quarantine.admit(name, tenant);
    switch (admission.kind) {
      case "main": {
        const moved = flight();
        moved.onEnd = null;
        return this.#main.dispatcher.adopt(moved);
      }
      case "apart": {
        if (admission.isProbe) this.#options.tell("tool:probe", { tool: name, tenant });
        this.#openQuarantine();
        const moved = flight();
        moved.onEnd = ({ outcome }) => {
          const isClean = outcome.ok || HARMLESS.has(outcome.failure.code);
          this.#noteApart(name, tenant, admission.isProbe, isClean);
        };
        return this.#apart.dispatcher.adopt(moved);
      }
      case "refused":
        return flight().fail({ code: "tool_quarantined", message: `tool "${name}" has ended too many executors` });
    }
  }

  #noteApart(tool: string, tenant: string, isProbe: boolean, isClean: boolean): void {
    if (isProbe) this.#quarantine.endProbe(tool, tenant, isClean);
    if (isClean && this.#quarantine.clean(tool)) this.#options.tell("tool:clear", { tool });
  }

  #onActive({ pid, lanes }: ChildHandle, { ward, dispatcher }: Place): void {
    this.#options.tell("executor:start", { pid, ward });
    for (const lane of lanes) dispatcher.attach(lane);
  }

  /** A process that makes room is ended once all of its lanes are idle. */
  #onLeft(lane: WorkerConnection, { dispatcher, crew }: Place): void {
    const child = crew.owner(lane);
    if (child === null || !child.lanes.every(({ isIdle }) => isIdle)) return;
    for (const each of child.lanes) dispatcher.detach(each);
    crew.release(child);
  }

  #onDeath(child: ChildHandle, death: Death, { ward, dispatcher }: Place): void {
    const { roster } = dispatcher;
    const memoryMbOf = (run: number) => roster.subjectOf(Math.abs(run))?.script.memoryMb ?? 0;
    const verdict = judge(death, ward === "quarantine", memoryMbOf);
    const { reason } = verdict;
    const killed = verdict.killed.filter((run) => dispatcher.flight(run)?.recordKill() === true);
    const [again] = killed;
    // Where nothing else runs it is the call's own doing.
    const isProved = ward === "quarantine" && again !== undefined && killed.length === 1;
    const culprit = isProved ? { run: again, failure: KILLED_AGAIN } : verdict.culprit;
    // Whose it was is known to the lanes, so they are asked before they are gone: nobody may wait for it any more.
    const subject = culprit === null ? undefined : roster.subjectOf(culprit.run);
    const suspects = new Set([...verdict.suspects, ...killed]);
    const together = new Set(verdict.suspects.map((run) => roster.subjectOf(Math.abs(run))?.script.key));
    const open = child.lanes.flatMap((lane: WorkerConnection) => [...dispatcher.detach(lane)]);
    const others = open.filter((run) => run !== culprit?.run);
    const culprits = subject === undefined ? [] : [subject.script.name];
    this.#options.tell("executor:lost", { pid: child.pid, ward, reason, culprits, restarted: others.length });
    if (culprit !== null && subject !== undefined) {
      this.#strike(subject);
      const budgetMs = dispatcher.flight(culprit.run)?.job.limits.cpuMs ?? 0;
      dispatcher.end(culprit.run, culprit.failure, culprit.failure.code === "cpu_limit" ? budgetMs : 0);
    }
    for (const run of others) {
      const key = dispatcher.flight(run)?.job.script.key;
      if (suspects.has(run) || (key !== undefined && together.has(key))) this.#runApart(run, dispatcher);
      else dispatcher.restart(run, "its executor process ended", culprit !== null || reason === "retired");
    }
    if (subject !== undefined && subject.tenant !== null) this.#replace(subject.script.name, subject.tenant);
  }

  /** Runs a suspect again where it can harm nobody. */
  #runApart(run: number, dispatcher: Dispatcher): void {
    const flight = dispatcher === this.#main.dispatcher ? dispatcher.release(run) : undefined;
    if (flight === undefined) return dispatcher.restart(run, "its executor process ended");
    this.#openQuarantine();
    this.#apart.dispatcher.adoptSuspect(flight);
  }

  /** A tool's calls that wait have to wait apart since one of them ended a process; that tenant's may be refused. */
  #replace(tool: string, tenant: string): void {
    const refused = this.#apart.dispatcher.withdraw(tool, tenant);
    for (const flight of [...refused, ...this.#main.dispatcher.withdraw(tool)]) this.#place(flight.job, () => flight);
  }

  #strike({ script, tenant }: CallOwner): void {
    const tool = tenant === null ? registrationOf(script.name) : script.name;
    const { strikes, openMs } = this.#quarantine.strike(tool, tenant ?? "");
    this.#options.tell("tool:quarantine", { tool, tenant: tenant ?? "", strikes });
    if (openMs > 0) this.#options.tell("tool:refuse", { tool, tenant: tenant ?? "", retryAfterMs: openMs });
  }
}

/** Ends of a call that ran, and did nothing to the process. Those at a limit may have come close to it. */
const HARMLESS: ReadonlySet<string> = new Set<ErrorCode>([
  "tool_error",
  "invalid_output",
  "output_too_large",
  "capability_denied",
  "capability_failed",
  "capability_limit",
]);

/** The system does so to what takes the last of its memory. */
const KILLED_AGAIN: Failure = {
  code: "executor_crashed",
  message: "the process that ran the call was killed again and again, each time in the call's turn",
};

/** The name under which a tool's registrations are held: no tool can be called so. */
function registrationOf(tool: string): string {
  return `${tool} (registration)`;
}
