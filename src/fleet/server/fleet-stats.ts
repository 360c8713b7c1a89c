import type { MachineInfo } from "../wire/messages.ts";
import type { ExecutorStats } from "../../kernel/executor/executor.ts";
import type { FleetStats, SeenMachine, MachineState } from "../../kernel/executor/fleet-state.ts";
import type { MachineDirectory } from "./machine-directory.ts";
import { describeForeign } from "../wire/members.ts";
import { describeLoss } from "../redis/reply.ts";
import type { RedisConnection } from "../redis/connection.ts";

/** Maximum number of machines listed one by one, and of protocol versions listed for each. */
const SEEN_MAX = 100;
const PROTOCOLS_MAX = 8;

/** The state of a fleet's machines. */
export function describeMachines(
  directory: MachineDirectory,
): Pick<FleetStats, "machines" | "slots" | "busySlots" | "seen" | "unlisted" | "unreadable"> {
  const { serving, all } = directory;
  const seen = [...all.values()].slice(0, SEEN_MAX).map((machine) => describeMachine(machine, directory));
  return {
    machines: serving.length,
    slots: serving.reduce((sum, { slots }) => sum + slots, 0),
    busySlots: serving.reduce((sum, { busySlots }) => sum + busySlots, 0),
    seen,
    unlisted: all.size - seen.length,
    unreadable: directory.foreign,
  };
}

function describeMachine(machine: MachineInfo, directory: MachineDirectory): SeenMachine {
  const { id, host = null, slots, busySlots, protocols, isSandboxed } = machine;
  return {
    id,
    host,
    state: directory.stateOf(machine),
    slots,
    busySlots,
    protocols: protocols.slice(0, PROTOCOLS_MAX),
    isSandboxed,
    silentMs: directory.silentMs(id),
  };
}

/** Sums up the latest heartbeats of machines. */
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

const WORDS: Readonly<Record<MachineState, string>> = {
  ready: "ready",
  draining: "draining",
  unready: "without a running executor process, or without Redis",
  "other protocol": "of another version",
};

export const NO_MACHINE = "there is no worker machine: start one with glovebox worker";

/** The reason why no machine takes a server's calls, and the remedy, for an operator; `null` if one does. */
export function problemOf(redis: RedisConnection, directory: MachineDirectory): string | null {
  const loss = describeLoss(redis);
  if (loss !== null) return loss;
  if (directory.serving.length > 0) return null;
  if (directory.misfit !== null) return directory.misfit;
  const states = [...directory.all.values()].map((machine) => directory.stateOf(machine));
  const foreign = directory.foreign > 0 ? describeForeign(directory.foreign, "machine") : null;
  if (states.length === 0) return foreign ?? NO_MACHINE;
  const counts = Map.groupBy(states, (state) => state);
  const readable = [...counts].map(([state, { length }]) => `${length} ${WORDS[state]}`).join(", ");
  return `no worker machine takes calls: ${readable}${foreign === null ? "" : `, and ${foreign}`}`;
}
