import type { ExecutorStats } from "../executor/executor.ts";

/** What a worker machine is doing. */
export interface MachineStats {
  readonly id: string;
  /** Whether calls can run here now. */
  readonly isReady: boolean;
  readonly isDraining: boolean;
  readonly isRedisUp: boolean;
  readonly slots: number;
  readonly busySlots: number;
  /** Calls that it has. */
  readonly calls: number;
  readonly executor: ExecutorStats;
}
