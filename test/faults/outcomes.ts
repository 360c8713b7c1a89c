/** Outcomes of faults, and whether this machine can bring one about. */
import { MISSING } from "../components.ts";
import { canUseNetworks } from "../fleet/network.ts";
import type { Fault, Need, Outcome } from "./fault.ts";
import { type Kept, OutcomeFile } from "./outcome-file.ts";

export type KeptOutcome = Kept<Omit<Outcome, "missing">>;

export const faultOutcomes = new OutcomeFile<Omit<Outcome, "missing">>(
  new URL("outcomes.json", import.meta.url),
  ({ name }) => name,
);

/** Whether this machine can bring a fault about. */
export function isPossible({ needs = [] }: Pick<Fault, "needs">): boolean {
  return needs.every(isThere);
}

function isThere(need: Need): boolean {
  switch (need) {
    case "root":
      return process.platform === "linux" && process.getuid?.() === 0;
    case "iproute2":
      return canUseNetworks() === null;
    case "redis":
    case "bubblewrap":
    case "prometheus":
      return !MISSING.includes(need);
    default:
      return need satisfies never;
  }
}
