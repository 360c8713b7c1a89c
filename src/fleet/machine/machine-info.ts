import { hostname } from "node:os";
import type { MachineInfo } from "../wire/messages.ts";
import type { MachineStats } from "./machine-stats.ts";

/** Tools that a machine names in what it says of itself every second. */
const TOOLS_MAX = 200;

/** What a machine says of itself to the fleet, as JSON, for the n-th time. */
export function machineInfo(stats: MachineStats, protocols: readonly number[], beat: number): string {
  const { executor } = stats;
  const heaps = [...executor.heapBytes].toSorted((a, b) => b[1] - a[1]).slice(0, TOOLS_MAX);
  const info: MachineInfo = {
    id: stats.id,
    protocols,
    slots: stats.slots,
    busySlots: stats.busySlots,
    isReady: stats.isReady,
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
