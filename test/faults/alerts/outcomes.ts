/** Outcomes of the last runs, from which the page is made. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { AlertOutcome } from "./alert.ts";
import { alertNames } from "./scaling.ts";

const FILE = fileURLToPath(new URL("outcomes.json", import.meta.url));

export interface KeptAlert extends AlertOutcome {
  /** The day on which it was measured. */
  readonly on: string;
}

export function readAlertOutcomes(): readonly KeptAlert[] {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as readonly KeptAlert[]) : [];
}

/** Puts an outcome in the place of that of the same alert, in the order of their file. */
export function keepAlertOutcome(outcome: AlertOutcome): void {
  const on = new Date().toISOString().slice(0, "2026-01-31".length);
  const all = new Map(readAlertOutcomes().map((one) => [one.alert, one]));
  all.set(outcome.alert, { ...outcome, on });
  const kept = alertNames().flatMap((name) => all.get(name) ?? []);
  writeFileSync(FILE, `${JSON.stringify(kept, null, 2)}\n`);
}
