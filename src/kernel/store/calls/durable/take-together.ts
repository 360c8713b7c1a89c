import type { SqliteTransaction } from "../../sqlite/store.ts";
import { type DurableStep, LASTING, READING } from "./durable-step.ts";

/** Takes steps in one transaction: on the disk before they are answered where one must not be lost, in none where all read. */
export function takeTogether<Answer>(
  transaction: SqliteTransaction,
  steps: readonly DurableStep[],
  take: (step: DurableStep) => Answer,
): readonly Answer[] {
  const work = (): readonly Answer[] => steps.map(take);
  if (steps.every(({ kind }) => READING.has(kind))) return work();
  return steps.some(({ kind }) => LASTING.has(kind)) ? transaction.runLasting(work) : transaction.run(work);
}
