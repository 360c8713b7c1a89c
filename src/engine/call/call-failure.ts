import type { LastRefusal } from "../../broker/capability-invoker.ts";
import { type ToolError, toolError } from "../../base/errors.ts";
import type { CallReply } from "../../executor/executor.ts";
import type { Limits } from "../../base/limits.ts";
import type { Failure } from "../../base/protocol/messages.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";

/** What is known of a call that failed, besides what its worker says. */
export interface FailedCall {
  readonly tool: RegisteredTool;
  readonly lastRefusal: LastRefusal | null;
  /** How many of its capability calls had been carried out, in all of its starts. */
  readonly effects: number;
  /** How long its tool is refused. */
  refusedForMs(): number;
}

/** What would only come again if the call were tried again at once. */
export const IN_VAIN: ReadonlySet<string> = new Set(["tool_quarantined", "queue_timeout"]);
/** How a call may end that waits for, or does without, what an earlier start of it had asked for. */
export const MAY_BE_BEHIND: ReadonlySet<string> = new Set(["tool_error", "wall_limit"]);

/** An effect that the first run had and the last one did not ask for: what came of it is not what has happened. */
export const FELL_BEHIND = {
  ok: false,
  failure: {
    code: "executor_lost",
    message: "replay diverged: after its executor was lost, the call made fewer capability calls than in its first run",
  },
} as const;

/** Ends of a call that had started, after which nobody knows how far it had come. */
const LOST: ReadonlySet<string> = new Set(["executor_lost", "tool_quarantined", "queue_timeout", "cancelled"]);

/** Why a call failed, for its caller. */
export function describeFailure(failure: Failure, call: FailedCall): ToolError {
  const { code, message, type, stack } = failure;
  if (LOST.has(code)) return describeLoss(failure, call);
  const refusal = refusalOf(call.lastRefusal, message);
  const place = stack === undefined ? {} : { stack: call.tool.mapStack(stack) };
  const details = refusal === null && stack === undefined ? undefined : { ...refusal, ...place };
  return toolError(code, message, details, code === "tool_error" ? type : undefined);
}

/** Its journal ends with it, so nobody but its caller can know whether its effects may be repeated. */
function describeLoss({ code, message }: Failure, call: FailedCall): ToolError {
  const { effects } = call;
  const wait = code === "tool_quarantined" ? { retryAfterMs: call.refusedForMs() } : null;
  if (effects === 0) return toolError(code, message, wait ?? undefined);
  const said = `${message}; ${effects} of its capability calls had been carried out`;
  return { ...toolError(code, said, { effects, ...wait }), retryable: false };
}

/** The processor time of a try. What ended its process could not say what it had used. */
export function spentBy({ outcome, cpuMs }: CallReply, limits: Limits): number {
  if (outcome.ok || cpuMs > 0) return cpuMs;
  const { code } = outcome.failure;
  return code === "executor_crashed" || code === "memory_limit" ? limits.cpuMs : cpuMs;
}

/** The refusal that a call failed with: what it asked for, what is granted and how to grant it. */
function refusalOf(last: LastRefusal | null, message: string): Omit<LastRefusal, "message"> | null {
  if (last === null || last.message !== message) return null;
  const { capability, asked, granted, remedy } = last;
  return { capability, asked, granted, remedy };
}
