import type { Executor, ExecutorStats } from "../executor/executor.ts";
import type { RedisUse } from "../store/outage.ts";
import type { Metrics } from "./telemetry/metrics.ts";
import type { FailedReload } from "./telemetry/reload-record.ts";
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
  /** Only while calls with a new idempotency key are refused, because its store was damaged. */
  readonly idempotency?: { readonly problem: string };
  /** Only while Redis cannot be used: its uses, and the problem. */
  readonly redis?: readonly RedisOutage[];
  /** Only while the last reload of the configuration was refused. */
  readonly reload?: FailedReload;
}

/** An outage of Redis. */
export interface RedisOutage {
  /** `fleet`, `kv`, `idempotency` or `calls`. */
  readonly uses: readonly RedisUse[];
  /** The failure, its effect on calls, and the remedy. */
  readonly problem: string;
  /** Whether it lasts until the configuration or Redis is changed. */
  readonly isLasting: boolean;
}

/** Parts of an engine for its snapshot. */
interface StatedParts {
  readonly scheduler: { stats(): Pick<SchedulerStats, "queued" | "running"> };
  readonly executor: Pick<Executor, "kind" | "stats">;
  readonly registry: { readonly size: number };
  readonly idempotency: { readonly problem: string | null };
  readonly metrics: Pick<Metrics, "redis" | "reloads">;
}

/** The snapshot of an engine in a state. */
export function statsOf(
  { scheduler, executor, registry, idempotency, metrics }: StatedParts,
  state: EngineStats["state"],
): EngineStats {
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
  const base = { state, tools: registry.size, queued, running, executor: told, isolates, quarantined };
  const refused = idempotency.problem;
  const outages = metrics.redis.problems.map(({ uses, message, isLasting }) => ({ uses, problem: message, isLasting }));
  const { failed } = metrics.reloads;
  return {
    ...base,
    ...(refused === null ? {} : { idempotency: { problem: refused } }),
    ...(outages.length === 0 ? {} : { redis: outages }),
    ...(failed === null ? {} : { reload: failed }),
  };
}
