import { type ErrorCode, GloveboxError } from "../../base/errors.ts";
import type { Inspection, ToolScript, ToolVersion } from "../../base/protocol/script.ts";
import type { EmitExecutorEvent, Executor, ExecutorStats, Job, Recycling, SandboxMode } from "../executor.ts";
import { sumStats } from "../dispatch/worker-registry.ts";
import type { ChildOptions } from "./child-handle.ts";
import { GroupProcesses } from "./group-processes.ts";
import { Sandbox } from "./sandbox.ts";
import { SpareProcess } from "./spare-process.ts";
import { groupOf, type TrustGroup } from "../trust-groups.ts";

export interface ProcessOptions extends Omit<ChildOptions, "sandbox"> {
  readonly spare: boolean;
  readonly recycle: Recycling;
  readonly sandbox: SandboxMode;
  readonly trust: readonly TrustGroup[];
  /** Time after which the unused process of a group ends: the spare takes its place at the next call. */
  readonly restMs?: number;
  readonly emit: EmitExecutorEvent;
  readonly nextCallNumber: () => number;
}

const REST_MS = 60_000;

/**
 * Isolates in supervised child processes: the default. Each trust group has processes of its own. The group of the
 * operator's tools has one from the start; the others only while they have calls.
 */
export class ProcessExecutor implements Executor {
  readonly kind = "process";
  readonly #groups = new Map<string, GroupProcesses>();
  readonly #trust: readonly TrustGroup[];
  readonly #home: GroupProcesses;
  readonly #sandbox: Sandbox;
  readonly #pipes: ProcessOptions["pipes"];
  readonly #spare: SpareProcess | null;
  #last: { readonly tool: object; readonly tenant: string | null; readonly group: GroupProcesses } | null = null;
  #closed = false;

  constructor({ spare, sandbox, trust, restMs = REST_MS, ...options }: ProcessOptions) {
    this.#trust = trust;
    this.#pipes = options.pipes;
    this.#sandbox = new Sandbox(sandbox);
    const child = { ...options, sandbox: this.#sandbox };
    const ofOperator = groupOf(trust, {}, null).name;
    const { emit } = options;
    this.#spare = !spare
      ? null
      : new SpareProcess({
          child,
          onDeath: (dead, death) => this.#home.recordSpareDeath(dead, death),
          onDelay: (delayMs, cause) =>
            emit("executor:delay", { ward: "main", group: ofOperator, delayMs, ...(cause === null ? {} : { cause }) }),
        });
    for (const { name } of trust) {
      const restAfterMs = name === ofOperator ? null : restMs;
      this.#groups.set(name, new GroupProcesses({ ...child, group: name, spare: this.#spare, restAfterMs }));
    }
    this.#home = this.#group(ofOperator);
  }

  async start(): Promise<void> {
    try {
      await Promise.all([this.#sandbox.prepare(), this.#pipes?.ready()]);
      if (this.#closed) throw new Error("the executor was closed before it had started");
      await this.#home.start();
    } catch (error) {
      throw new GloveboxError("executor_lost", error instanceof Error ? error.message : String(error));
    }
  }

  run(job: Job): void {
    this.#groupOf(job.script, job.tenant).run(job);
  }

  cancel(callNumber: number, code: ErrorCode, message: string): void {
    for (const group of this.#groups.values()) group.cancel(callNumber, code, message);
  }

  watch(callNumber: number): void {
    for (const group of this.#groups.values()) group.watch(callNumber);
  }

  inspect(script: ToolScript): Promise<Inspection> {
    return this.#groupOf(script, null).inspect(script);
  }

  forget(key: string): void {
    for (const group of this.#groups.values()) group.forget(key);
  }

  withdraw(key: string): void {
    // Workers get the script of a waiting call again.
    this.forget(key);
  }

  refusedForMs(tool: ToolVersion, tenant: string): number {
    return this.#groupOf(tool, tenant).refusedForMs(tool, tenant);
  }

  mayShareWorker(tool: ToolVersion, other: ToolVersion, tenant: string): boolean {
    const group = this.#groupOf(tool, tenant);
    return group === this.#groupOf(other, tenant) && !group.suspects(tool) && !group.suspects(other);
  }

  trustGroup(tool: ToolVersion, tenant: string): string {
    return groupOf(this.#trust, tool, tenant).name;
  }

  stats(): ExecutorStats {
    const groups = [...this.#groups.values()];
    const { isReady, problem } = this.#home;
    const rssBytes = groups.reduce((sum, group) => sum + group.rssBytes, this.#spare?.rssBytes ?? 0);
    return {
      ...sumStats(groups.flatMap(({ workers }) => workers)),
      rssBytes,
      ready: isReady,
      problem: isReady ? null : problem,
      spareReady: this.#spare?.isReady === true,
      quarantined: [...new Set(groups.flatMap(({ quarantined }) => quarantined))],
      sandbox: this.#sandbox.state,
      groups: groups.map(({ name, pids }) => ({ name, pids })),
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([this.#spare?.close(), ...[...this.#groups.values()].map((group) => group.close())]);
  }

  #groupOf(tool: Pick<ToolScript, "registrant">, tenant: string | null): GroupProcesses {
    const last = this.#last;
    // Most calls follow one of the same tool and tenant.
    if (last !== null && last.tool === tool && last.tenant === tenant) return last.group;
    const group = this.#group(groupOf(this.#trust, tool, tenant).name);
    this.#last = { tool, tenant, group };
    return group;
  }

  #group(name: string): GroupProcesses {
    const group = this.#groups.get(name);
    if (group === undefined) throw new RangeError(`there is no trust group "${name}"`);
    return group;
  }
}
