import type { ExecutorStats } from "../../kernel/executor/executor.ts";
import type { RedisConnection } from "../redis/connection.ts";
import { describeLoss } from "../redis/reply.ts";
import { hostname } from "node:os";
import type { MachineInfo } from "../wire/messages.ts";

/** The state of a worker machine. */
export interface MachineStats {
  readonly id: string;
  /** Whether calls can run here now, of servers that it can read. */
  readonly isReady: boolean;
  readonly isDraining: boolean;
  /** Whether Redis is reached, and refuses no commands. */
  readonly isRedisUp: boolean;
  /**
   * The reason why calls wait, or why no server can send any, for an operator, without addresses or secrets; `null` if
   * they can run.
   */
  readonly problem: string | null;
  readonly slots: number;
  readonly busySlots: number;
  /** Number of calls that have not ended. */
  readonly calls: number;
  readonly executor: ExecutorStats;
}

/** The reason why a machine cannot run calls; `null` if it can. */
export function problemOf(redis: RedisConnection, { ready }: Pick<ExecutorStats, "ready">): string | null {
  return describeLoss(redis) ?? (ready ? null : "executor processes were lost and are being restarted");
}

/** Maximum number of tools that a heartbeat names. */
const TOOLS_MAX = 200;

/** The content of a machine's n-th heartbeat, as JSON. */
export function machineInfo(stats: MachineStats, protocols: readonly number[], beat: number): string {
  const { executor } = stats;
  const heaps = [...executor.heapBytes].toSorted((a, b) => b[1] - a[1]).slice(0, TOOLS_MAX);
  const info: MachineInfo = {
    id: stats.id,
    protocols,
    slots: stats.slots,
    busySlots: stats.busySlots,
    // A reader of this has got it by Redis, so an outage noticed before is over.
    isReady: executor.ready && !stats.isDraining,
    isDraining: stats.isDraining,
    isolates: executor.isolates,
    starts: Object.fromEntries(executor.starts),
    heapBytes: Object.fromEntries(heaps),
    rssBytes: executor.rssBytes,
    quarantined: executor.quarantined.slice(0, TOOLS_MAX),
    isSandboxed: executor.sandbox.kind !== "off",
    host: hostname(),
    beat,
  };
  return JSON.stringify(info);
}
