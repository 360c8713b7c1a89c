import type { ExecutorStats } from "../../executor/executor.ts";
import type { RedisConnection } from "../../store/redis/connection.ts";
import { describeLoss } from "../../store/redis/reply.ts";

/** What a worker machine is doing. */
export interface MachineStats {
  readonly id: string;
  /** Whether calls can run here now. */
  readonly isReady: boolean;
  readonly isDraining: boolean;
  readonly isRedisUp: boolean;
  /** What calls wait for, in words for an operator, without addresses or secrets; `null` where they can run. */
  readonly problem: string | null;
  readonly slots: number;
  readonly busySlots: number;
  /** Calls that it has. */
  readonly calls: number;
  readonly executor: ExecutorStats;
}

/** What is not there that a machine needs. */
export function problemOf(redis: RedisConnection, { ready }: Pick<ExecutorStats, "ready">): string | null {
  return describeLoss(redis) ?? (ready ? null : "its executor processes were lost, and others start");
}
