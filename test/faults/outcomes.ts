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

/** Puts outcomes in the place of those of the same name. */
export function keepOutcomes(outcomes: readonly Outcome[]): void {
  const on = new Date().toISOString().slice(0, "2026-01-31".length);
  const all = new Map(readOutcomes().map((one) => [one.name, one]));
  for (const { missing: _missing, ...outcome } of outcomes) all.set(outcome.name, { ...outcome, on });
  writeFileSync(FILE, `${JSON.stringify([...all.values()], null, 2)}\n`);
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
      return !MISSING.includes(need);
    default:
      return need satisfies never;
  }
}
