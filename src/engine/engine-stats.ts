import type { Executor, ExecutorStats } from "../executor/executor.ts";
import type { SchedulerStats } from "./schedule/scheduler.ts";

/** Snapshot of an engine's state. */
export interface EngineStats {
  readonly state: "open" | "draining" | "closed";
  readonly tools: number;
  readonly queued: number;
  readonly running: number;
  /** `groups`: only with the executor `process`; `fleet`: only with `queue`. */
  readonly executor: Pick<ExecutorStats, "ready" | "spareReady" | "rssBytes" | "sandbox" | "groups" | "fleet"> & {
    readonly kind: string;
    /** The reason why no calls can run now, such as `spawn node EMFILE`; otherwise `null`. */
    readonly problem: string | null;
  };
  readonly isolates: { readonly active: number; readonly warm: number; readonly blank: number };
  readonly quarantined: readonly string[];
}

/** Parts of an engine that its snapshot is of. */
interface StatedParts {
  readonly scheduler: { stats(): Pick<SchedulerStats, "queued" | "running"> };
  readonly executor: Pick<Executor, "kind" | "stats">;
  readonly registry: { readonly size: number };
}

/** The snapshot of an engine in a state. */
export function statsOf({ scheduler, executor, registry }: StatedParts, state: EngineStats["state"]): EngineStats {
  const { queued, running } = scheduler.stats();
  const { ready, problem = null, spareReady, rssBytes, isolates, ...rest } = executor.stats();
  const { quarantined, sandbox, groups, fleet } = rest;
  const served = {
    kind: executor.kind,
    ready,
    problem: problem ?? fleet?.problem ?? null,
    spareReady,
    rssBytes,
    sandbox,
  };
  const told = { ...served, ...(groups && { groups }), ...(fleet && { fleet }) };
  return { state, tools: registry.size, queued, running, executor: told, isolates, quarantined };
}
