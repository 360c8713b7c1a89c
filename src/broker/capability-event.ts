import { createHash } from "node:crypto";
import type { CapabilityCall } from "../base/protocol/capability-call.ts";

/** How a capability call ended. */
export type CapabilityOutcome = "ok" | "denied" | "failed" | "limit" | "replayed" | "diverged";

/** Whose capability call it is. */
/** Whose ask it was. */
export interface EventSubject {
  readonly callId: string;
  readonly parentId?: string | undefined;
  readonly tool: string;
  readonly tenant: string;
}

/** What happened to a capability call, for events, metrics and the audit. */
export class CapabilityEvent {
  readonly capability: string;
  readonly method: string;
  readonly callId: string;
  /** The call on whose behalf the call is made, where a tool called it. */
  readonly parentId: string | undefined;
  readonly tool: string;
  readonly tenant: string;
  /** Counts the call's asks from 1. */
  readonly step: number;
  readonly outcome: CapabilityOutcome;
  /** The rules of the policy that give the call something of it, by their places from 0. */
  readonly rules: readonly number[];
  /** UTF-16 units of the arguments' and the answer's JSON. */
  readonly argsLength: number;
  readonly answerLength: number;
  readonly durationMs: number;
  readonly #args: string;

  constructor(
    { callId, parentId, tool, tenant }: EventSubject,
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

  /** SHA-256 of the arguments' JSON, in hexadecimal: made only for who asks for it. */
  get argsHash(): string {
    return createHash("sha256").update(this.#args).digest("hex");
  }
}

/** A method's own name, without the step of its progress. */
export function methodName(method: string): string {
  return method.replace(/\$(?:begin|next|end)$/, "");
}
