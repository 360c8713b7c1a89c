import { createHash } from "node:crypto";
import type { ErrorCode } from "../base/errors.ts";
import type { CapabilityCall } from "../base/protocol/capability-call.ts";

/** Outcome of a capability call. */
export type CapabilityOutcome = "ok" | "denied" | "failed" | "limit" | "replayed" | "diverged";

/** The call that made a capability call. */
export interface CallIdentity {
  readonly callId: string;
  /** Id of the call whose tool called this tool. */
  readonly parentId?: string | undefined;
  readonly tool: string;
  readonly tenant: string;
}

/** Record of a capability call. */
export interface CapabilityRecord {
  readonly capability: string;
  readonly method: string;
  /** Number of the capability call within its call, from 1. */
  readonly step: number;
  readonly outcome: CapabilityOutcome;
  /** Indices of the policy rules that grant the capability. */
  readonly rules: readonly number[];
  /** Length of the JSON of the arguments and of the response, in UTF-16 units. */
  readonly argsLength: number;
  readonly answerLength: number;
  readonly durationMs: number;
  /** SHA-256 of the arguments' JSON, in hexadecimal. */
  readonly argsHash: string;
}

/** Record of a capability call, for events, metrics and the audit. */
export interface CapabilityEvent extends CapabilityRecord {
  readonly callId: string;
  /** Id of the call whose tool called this tool. */
  readonly parentId: string | undefined;
  readonly tool: string;
  readonly tenant: string;
}

/** Result of a capability call that has ended. */
export interface CapabilityDetails extends Partial<Pick<CapabilityRecord, "rules" | "answerLength" | "durationMs">> {
  /** The error code of its response. */
  readonly code?: ErrorCode;
  /** Whether it only continues an earlier one. */
  readonly isContinuation?: boolean;
}

/** The event of a capability call. The arguments are hashed at the first use of the hash. */
export function capabilityEvent(
  { callId, parentId, tool, tenant }: CallIdentity,
  { capability, method, args, step }: CapabilityCall,
  outcome: CapabilityOutcome,
  { rules = [], answerLength = 0, durationMs = 0 }: CapabilityDetails = {},
): CapabilityEvent {
  return {
    capability,
    method: methodName(method),
    callId,
    parentId,
    tool,
    tenant,
    step,
    outcome,
    rules,
    argsLength: args.length,
    answerLength,
    durationMs,
    get argsHash() {
      return createHash("sha256").update(args).digest("hex");
    },
  };
}

/** Name of a method without its suffix `$begin`, `$next` or `$end`. */
export function methodName(method: string): string {
  return method.replace(/\$(?:begin|next|end)$/, "");
}
