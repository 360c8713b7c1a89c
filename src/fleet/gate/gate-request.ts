import { type Cap, capsOf, type CapEntry } from "./gate-caps.ts";
import type { FleetKeys } from "../wire/keys.ts";
import { levelOf, orderKeys } from "./turn.ts";

/** Claims of one tenant that have their turns one after the other: Redis need only say the first one's. */
export interface ClaimGroup {
  readonly level: number;
  readonly cost: number;
  /** One, where it has a cap. */
  readonly entries: readonly CapEntry[];
}

/** What `ADMIT` is asked. */
export interface GateRequest {
  readonly groups: readonly ClaimGroup[];
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

export function requestOf(
  entries: readonly CapEntry[],
  gate: { readonly keys: FleetKeys; readonly server: string; readonly channel: string },
): GateRequest {
  const asked = new Set(entries);
  const caps = [...new Set(entries.flatMap(capsOf))];
  const numbers = new Map<Cap | null, number>(caps.map((cap, index) => [cap, index + 1]));
  const groups = groupsOf(entries, caps.length === 0);
  const args: (string | number)[] = [gate.server, gate.channel, caps.length];
  for (const cap of caps) args.push(cap.limit, cap.waitsSince(asked));
  for (const { level, cost, entries: members } of groups) {
    const [first] = members;
    if (first === undefined) continue;
    args.push(caps.length === 0 ? members.length : first.claim.id, first.tenant, level, cost);
    if (caps.length === 0) continue;
    const { ofTenant, ofTool, sinceUs, heldBy } = first;
    args.push(numbers.get(ofTenant) ?? 0, numbers.get(ofTool) ?? 0, sinceUs ?? "", heldBy);
  }
  const keys = [...orderKeys(gate.keys), ...caps.flatMap((cap) => [cap.leases, cap.waits])];
  return { groups, keys, args };
}

/** A tenant's claims stay in their order. */
function groupsOf(entries: readonly CapEntry[], mayJoin: boolean): readonly ClaimGroup[] {
  const groups: (ClaimGroup & { readonly entries: CapEntry[] })[] = [];
  const last = new Map<string, ClaimGroup & { readonly entries: CapEntry[] }>();
  for (const entry of entries) {
    const { cost } = entry.claim;
    const level = levelOf(entry.claim.priority);
    const open = last.get(entry.tenant);
    if (mayJoin && open?.cost === cost && open.level === level) {
      open.entries.push(entry);
      continue;
    }
    const group = { level, cost, entries: [entry] };
    groups.push(group);
    last.set(entry.tenant, group);
  }
  return groups;
}
