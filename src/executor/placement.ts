import type { Lane } from "./lane.ts";

/** A warm lane may be so many calls behind the emptiest one: a call waits less than an isolate takes to start. */
const WARM_LEAD_CALLS = 4;

/** The lane for a call: where its tool is warm if that is not much fuller than the emptiest; `null` where none is. */
export function place(lanes: ReadonlySet<Lane>, key: string, tenant: string): Lane | null {
  let emptiest: Lane | null = null;
  let warmest: Lane | null = null;
  for (const lane of lanes) {
    if (emptiest === null || lane.open.size < emptiest.open.size) emptiest = lane;
    if (lanes.size === 1) return lane;
    if (!lane.isWarm(key, tenant)) continue;
    if (warmest === null || lane.open.size < warmest.open.size) warmest = lane;
  }
  if (warmest === null || emptiest === null) return emptiest;
  return warmest.open.size <= emptiest.open.size + WARM_LEAD_CALLS ? warmest : emptiest;
}
