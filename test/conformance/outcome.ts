import { fileURLToPath } from "node:url";
import { expect } from "vitest";

/** Cases with one reason. The cases themselves are listed beside the suite's test. */
export interface Cases {
  readonly reason: string;
  readonly cases: number;
}

/** The outcome of a public suite, as `docs/reference/conformance.md` shows it. */
export interface Outcome {
  /** Title of the suite, with the part of it that runs. */
  readonly suite: string;
  /** Version of the suite: that of its package, or its commit. */
  readonly version: string;
  readonly passed: number;
  /** Cases for hosts of another kind: they do not run. */
  readonly notApplicable: readonly Cases[];
  /** Cases that do not pass, on purpose. */
  readonly refused: readonly Cases[];
  /** Cases that do not pass, and should. */
  readonly open: readonly Cases[];
}

/** Compares an outcome with the one in the repository. `--update` writes it. */
export async function expectOutcome(name: string, outcome: Outcome): Promise<void> {
  const file = fileURLToPath(new URL(`outcomes/${name}.json`, import.meta.url));
  await expect(`${JSON.stringify(outcome, null, 2)}\n`).toMatchFileSnapshot(file);
}

/** Counts cases by their reasons, in the order of the first case of each. */
export function byReason(cases: Iterable<readonly [name: string, reason: string]>): readonly Cases[] {
  const counts = new Map<string, number>();
  for (const [, reason] of cases) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, count]) => ({ reason, cases: count }));
}
