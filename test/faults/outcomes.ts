/** Outcomes of the last runs, from which the page is made. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { MISSING } from "../components.ts";
import { canUseNetworks } from "../fleet/network.ts";
import type { Fault, Need, Outcome } from "./fault.ts";

const FILE = fileURLToPath(new URL("outcomes.json", import.meta.url));

export interface KeptOutcome extends Omit<Outcome, "missing"> {
  /** The day on which it was measured. */
  readonly on: string;
}

export function readOutcomes(): readonly KeptOutcome[] {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as readonly KeptOutcome[]) : [];
}

/** Puts an outcome in the place of that of the same name, in the order of all names. Others are dropped: they have no fault. */
export function keepOutcome({ missing: _missing, ...outcome }: Outcome, names: readonly string[]): void {
  const on = new Date().toISOString().slice(0, "2026-01-31".length);
  const all = new Map(readOutcomes().map((one) => [one.name, one]));
  all.set(outcome.name, { ...outcome, on });
  const kept = names.flatMap((name) => all.get(name) ?? []);
  writeFileSync(FILE, `${JSON.stringify(kept, null, 2)}\n`);
}

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
