import { type ErrorCode, GloveboxError } from "../../errors.ts";
import type { Inspection, ToolScript } from "../../protocol/script.ts";
import { Dispatcher } from "../dispatcher.ts";
import type { Executor, ExecutorEvent, ExecutorStats, Job, Reply } from "../executor.ts";
import type { Lane } from "../lane.ts";
import { collectStats } from "../stats.ts";
import { type Death, judge } from "./blame.ts";
import type { ChildHandle, ChildOptions } from "./child-handle.ts";
import { Crew } from "./crew.ts";
import { Quarantine } from "./quarantine.ts";

export interface ProcessOptions extends ChildOptions {
  readonly spare: boolean;
  readonly onEvent: (event: ExecutorEvent) => void;
  readonly nextRun: () => number;
}

/** One crew and the dispatcher that uses its lanes. */
interface Ward {
  readonly dispatcher: Dispatcher;
  readonly crew: Crew;
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
  readonly #main: Ward;
  readonly #apart: Ward;
  readonly #quarantine = new Quarantine();
  #closed = false;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.#main = this.#createWard(options, options.spare);
    this.#apart = this.#createWard({ ...options, workers: 1 }, false);
  }

  async start(): Promise<void> {
    try {
      await this.#main.crew.start();
    } catch (error) {
      throw new GloveboxError("executor_lost", error instanceof Error ? error.message : String(error));
    }
  }

  async run(job: Job): Promise<Reply> {
    const tool = job.script.name;
    if (!this.#quarantine.holds(tool)) return this.#main.dispatcher.run(job);
    this.#openQuarantine();
    const reply = await this.#apart.dispatcher.run(job);
    if (reply.outcome.ok || reply.outcome.failure.code === "tool_error") this.#quarantine.clean(tool);
    return reply;
  }

  cancel(run: number, code: ErrorCode, message: string): void {
    for (const { dispatcher } of this.#wards()) dispatcher.end(run, { code, message });
  }

  inspect(script: ToolScript): Promise<Inspection> {
    return this.#main.dispatcher.inspect(script);
  }

  forget(key: string): void {
    for (const { dispatcher } of this.#wards()) dispatcher.forget(key);
  }

  refusedForMs(tool: string): number {
    return this.#quarantine.refusedForMs(tool);
  }

  stats(): ExecutorStats {
    const dispatchers = this.#wards().map((ward) => ward.dispatcher);
    const rssBytes = this.#main.crew.rssBytes + this.#apart.crew.rssBytes;
    const ready = !this.#closed && this.#main.crew.active !== null;
    return collectStats(dispatchers, rssBytes, ready, this.#quarantine.tools);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const message = "the engine was closed before the call ended";
    for (const { dispatcher } of this.#wards()) dispatcher.close("engine_closed", message);
    await Promise.all(this.#wards().map(({ crew }) => crew.close()));
  }

  #wards(): readonly Ward[] {
    return [this.#main, this.#apart];
  }

  #createWard(child: ChildOptions, spare: boolean): Ward {
    const { workers, prelude, entropyKey, warmIsolates, rssMaxMb } = child;
    const dispatcher: Dispatcher = new Dispatcher(
      {
        onBatch: (size) => this.#options.onEvent({ kind: "batch", size }),
        onBroken: (lane) => crew.owner(lane)?.kill("protocol"),
      },
      this.#options.nextRun,
    );
    const crew: Crew = new Crew({
      child: { workers, prelude, entropyKey, warmIsolates, rssMaxMb },
      spare,
      listener: dispatcher,
      onActive: (active) => this.#onActive(active, dispatcher),
      onDeath: (dead, death, wasActive) => this.#onDeath(dead, death, wasActive, dispatcher),
    });
    return { dispatcher, crew };
  }

  #openQuarantine(): void {
    if (this.#closed) return;
    // Its calls wait for the process to start; where it cannot, they end at their deadlines.
    this.#apart.crew.start().catch(() => undefined);
  }

  #onActive(child: ChildHandle, dispatcher: Dispatcher): void {
    this.#options.onEvent({ kind: "started", pid: child.pid });
    for (const lane of child.lanes) dispatcher.attach(lane);
  }

  #onDeath(child: ChildHandle, death: Death, wasActive: boolean, dispatcher: Dispatcher): void {
    const verdict = judge(death);
    const open = child.lanes.flatMap((lane: Lane) => [...dispatcher.detach(lane)]);
    const { culprit } = verdict;
    const culprits: string[] = [];
    const tool = culprit === null ? undefined : dispatcher.scriptOf(culprit.run)?.name;
    if (culprit !== null && tool !== undefined) {
      culprits.push(tool);
      this.#strike(tool);
      const budgetMs = dispatcher.flight(culprit.run)?.job.limits.cpuMs ?? 0;
      dispatcher.end(culprit.run, culprit.failure, culprit.failure.code === "cpu_limit" ? budgetMs : 0);
    }
    if (wasActive) this.#options.onEvent({ kind: "lost", reason: verdict.reason, culprits });
    const suspects = new Set(verdict.suspects);
    const together = new Set(verdict.suspects.map((run) => dispatcher.scriptOf(-run)?.key));
    for (const run of open) {
      if (run === culprit?.run) continue;
      const isSuspect = suspects.has(run) || together.has(dispatcher.scriptOf(run)?.key);
      this.#runAgain(run, isSuspect, dispatcher);
    }
  }

  /** Innocents go on in the next process, suspects where they can harm nobody. */
  #runAgain(run: number, isSuspect: boolean, dispatcher: Dispatcher): void {
    if (isSuspect && dispatcher === this.#main.dispatcher) {
      const flight = dispatcher.release(run);
      if (flight !== undefined) {
        this.#openQuarantine();
        flight.deadlineMs = performance.now() + flight.job.limits.wallMs;
        this.#apart.dispatcher.adopt(flight);
        return;
      }
    }
    dispatcher.restart(run, "its executor process ended");
  }

  #strike(tool: string): void {
    const strikes = this.#quarantine.strike(tool);
    this.#options.onEvent({ kind: "quarantined", tool, strikes });
  }
}
