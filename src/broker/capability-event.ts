import { createHash } from "node:crypto";
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

/** Record of a capability call, for events, metrics and the audit. */
export class CapabilityEvent {
  readonly capability: string;
  readonly method: string;
  readonly callId: string;
  /** Id of the call whose tool called this tool. */
  readonly parentId: string | undefined;
  readonly tool: string;
  readonly tenant: string;
  /** Number of the capability call within its call, from 1. */
  readonly step: number;
  readonly outcome: CapabilityOutcome;
  /** Indices of the policy rules that grant the capability. */
  readonly rules: readonly number[];
  /** Length of the JSON of the arguments and of the response, in UTF-16 units. */
  readonly argsLength: number;
  readonly answerLength: number;
  readonly durationMs: number;
  readonly #args: string;

  constructor(
    { callId, parentId, tool, tenant }: CallIdentity,
    { capability, method, args, step }: CapabilityCall,
    outcome: CapabilityOutcome,
    { rules = [], answerLength = 0, durationMs = 0 }: Partial<CapabilityEvent> = {},
  ) {
    this.capability = capability;
    this.method = methodName(method);
    this.callId = callId;
    this.parentId = parentId;
    this.tool = tool;
    this.tenant = tenant;
    this.step = step;
    this.outcome = outcome;
    this.rules = rules;
    this.argsLength = args.length;
    this.answerLength = answerLength;
    this.durationMs = durationMs;
    this.#args = args;
  }

  /** SHA-256 of the arguments' JSON, in hexadecimal. */
  get argsHash(): string {
    return createHash("sha256").update(this.#args).digest("hex");
  }
}

/** Name of a method without its suffix `$begin`, `$next` or `$end`. */
export function methodName(method: string): string {
  return method.replace(/\$(?:begin|next|end)$/, "");
}
