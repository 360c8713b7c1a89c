import type { ExecutorStats } from "../executor/executor.ts";

/** A snapshot of what an engine is doing. */
export interface EngineStats {
  readonly state: "open" | "draining" | "closed";
  readonly tools: number;
  readonly queued: number;
  readonly running: number;
  /** `fleet`: of the executor `queue` alone. */
  readonly executor: Pick<ExecutorStats, "ready" | "spareReady" | "rssBytes" | "sandbox" | "fleet"> & {
    readonly kind: string;
  };
  readonly isolates: { readonly active: number; readonly warm: number; readonly blank: number };
  readonly quarantined: readonly string[];
}
