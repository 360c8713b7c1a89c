import { setTimeout as delay } from "node:timers/promises";
import { type ErrorCode, type ErrorDetails, StoreError } from "../../base/errors.ts";
import { readResult, resultText, type ToolResult } from "../../base/result.ts";
import { LOST_MAX, type MadeCall, type PausedCall, type RunWait } from "../../store/calls/durable/durable-call.ts";
import type { DurableAnswer, DurableStep, TakeDurable } from "../../store/calls/durable/durable-step.ts";

/** Pauses between tries to take a step. */
const PAUSES_MS = [50, 500, 2_000];

/** The reason for which a run that the store does not know any more must stop. */
export const TAKEN_OVER = "the call has ended, or another process has taken it over";

/** The outcome of storing a call. */
export type StoredPause =
  | { readonly kind: "stored" }
  /** Some of its waits are settled already, so it was not stored. */
  | { readonly kind: "settled"; readonly waits: readonly RunWait[] }
  /** It was not stored, and will not be. */
  | {
      readonly kind: "refused";
      readonly code: ErrorCode;
      readonly message: string;
      readonly details?: ErrorDetails["cannot_pause"] | undefined;
    }
  /** It may be stored, and may continue elsewhere: its run must stop. */
  | { readonly kind: "unknown"; readonly message: string };

/** Stores a call that pauses. */
export function storePause(take: TakeDurable, call: PausedCall, nowMs: number): Promise<StoredPause> {
  return storeSurely(take, { kind: "pause", call, nowMs });
}

/** The step can be repeated: if an answer is late, it is requested once more. */
async function storeSurely(
  take: TakeDurable,
  step: Extract<DurableStep, { readonly kind: "pause" | "start" }>,
): Promise<StoredPause> {
  let isUnanswered = false;
  for (const pauseMs of [...PAUSES_MS, 0]) {
    try {
      const answer = await take(step);
      switch (answer.kind) {
        case "done":
          return { kind: "stored" };
        case "settled":
          return { kind: "settled", waits: answer.waits };
        case "full":
          return { kind: "refused", code: "cannot_pause", message: answer.bound, details: { bound: answer.bound } };
        default:
          return { kind: "unknown", message: TAKEN_OVER };
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      isUnanswered ||= error.isUnanswered;
      if (!isUnanswered) return { kind: "refused", code: "store_failed", message: error.message };
      await delay(pauseMs);
    }
  }
  return { kind: "unknown", message: `the store did not answer: the call may be kept as ${step.call.id}` };
}

/** Stores a call that begins its first run. */
export async function storeStart(
  take: TakeDurable,
  call: PausedCall & { readonly made: MadeCall },
  holder: string,
): Promise<Exclude<StoredPause, { readonly kind: "settled" }>> {
  const stored = await storeSurely(take, { kind: "start", call, holder, nowMs: call.made.createdMs });
  return stored.kind === "settled" ? { kind: "unknown", message: TAKEN_OVER } : stored;
}

/** Takes a step with retries. If it cannot be stored now, the loss of its process is detected later. */
export async function takeSurely(take: TakeDurable, step: DurableStep): Promise<DurableAnswer | null> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await take(step);
    } catch {
      await delay(pauseMs);
    }
  }
  return null;
}

/**
 * Stores the end of a run. A run that found no place in the queue makes its call ready again, and a run that was cut
 * off is handled as one whose process was lost. Returns the call's result; `null` if another run has to give it.
 */
export async function storeEnd(
  take: TakeDurable,
  { id, leg }: { readonly id: string; readonly leg: number },
  result: ToolResult,
  isStart: boolean,
): Promise<ToolResult | null> {
  const goesOn = goesOnAfter(result, isStart);
  const end = goesOn ?? ({ kind: "end", result: resultText(result), isFailed: !result.success } as const);
  const answer = await takeSurely(take, { ...end, id, leg, nowMs: Date.now() });
  if (answer?.kind !== "lost") return goesOn === null ? result : null;
  // Another run has begun meanwhile, or an earlier try was stored, and its answer came too late.
  const known = await takeSurely(take, { kind: "get", id, tenant: null });
  return known?.kind === "call" && known.call.result !== null ? readResult(known.call.result) : null;
}

/** Codes of a run that never began, and of one that was cut off. */
const NOT_BEGUN: ReadonlySet<string> = new Set(["queue_full", "queue_timeout", "engine_closed"]);
const CUT_OFF: ReadonlyMap<string, number> = new Map([
  ["engine_closed", 1],
  // The call itself may have killed its executor.
  ["executor_lost", LOST_MAX / 5],
]);

/** The state of a call after the end of a run; `null`: ended, also if it could not begin its first run. */
function goesOnAfter(result: ToolResult, isStart: boolean) {
  const code = result.error?.code ?? "";
  const isUnrun = result.metadata.attempts === 0 && NOT_BEGUN.has(code);
  if (isUnrun && !isStart) return { kind: "release" } as const;
  const losses = isUnrun ? undefined : CUT_OFF.get(code);
  return losses === undefined ? null : ({ kind: "abandon", losses } as const);
}
