import type { MachineInfo } from "../../fleet/messages.ts";
import type { ExecutorStats } from "../executor.ts";

/** Sums up what machines last said of themselves. */
export function sumUpMachines(
  machines: readonly MachineInfo[],
): Pick<ExecutorStats, "isolates" | "starts" | "heapBytes" | "rssBytes" | "quarantined" | "sandbox"> {
  const isolates = { active: 0, warm: 0, blank: 0 };
  const starts = new Map<string, number>();
  const heapBytes = new Map<string, number>();
  const quarantined = new Set<string>();
  let [rssBytes, sandboxed] = [0, 0];
  for (const machine of machines) {
    isolates.active += machine.isolates.active;
    isolates.warm += machine.isolates.warm;
    isolates.blank += machine.isolates.blank;
    rssBytes += machine.rssBytes;
    if (machine.isSandboxed) sandboxed++;
    for (const tool of machine.quarantined) quarantined.add(tool);
    for (const [kind, count] of Object.entries(machine.starts)) starts.set(kind, (starts.get(kind) ?? 0) + count);
    for (const [tool, bytes] of Object.entries(machine.heapBytes)) {
      heapBytes.set(tool, (heapBytes.get(tool) ?? 0) + bytes);
    }
  }
  const sandbox =
    machines.length > 0 && sandboxed === machines.length
      ? ({ kind: "bubblewrap" } as const)
      : ({
          kind: "off",
          reason: `${machines.length - sandboxed} of ${machines.length} worker machines have none`,
        } as const);
  return { isolates, starts, heapBytes, rssBytes, quarantined: [...quarantined], sandbox };
}
