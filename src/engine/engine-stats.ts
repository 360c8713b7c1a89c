import type { ExecutorStats } from "../executor/executor.ts";

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
