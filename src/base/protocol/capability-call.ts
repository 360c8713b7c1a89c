import type { Failure } from "../errors.ts";

/** A capability call: what a tool asks of the host. */
export interface CapabilityCall {
  /** Number of the capability call within its call, from 1; the same number when the call is run again. */
  readonly step: number;
  /** Number of the call's start, from 1. */
  readonly attempt: number;
  /** The call's clock when it asked. It lags behind the host's, and the times of responses are of the same clock. */
  readonly nowMs: number;
  /** How many responses this start had received, where that is known: others were still on their way to it. */
  readonly heard?: number;
  readonly capability: string;
  readonly method: string;
  /** JSON. */
  readonly args: string;
}

/** The response to a capability call. `nowMs`: the call's clock when it came. */
export type CapabilityResponse =
  | { readonly kind: "value"; readonly nowMs: number; readonly json: string }
  | { readonly kind: "failure"; readonly nowMs: number; readonly failure: Failure };

/** The end of a call, in place of a response: run again, it made another capability call than in its first run. */
export interface Diverged {
  readonly kind: "diverged";
  readonly message: string;
}

/**
 * Whether a capability call only continues an earlier one: the next piece of a body, the next progress of a handler. Bytes and
 * time bound these like all, but they do not count as capability calls.
 */
export function isContinuation(capability: string, method: string): boolean {
  if (capability === "fetch") return method === "read" || method === "cancel";
  return method.endsWith("$next") || method.endsWith("$end");
}

/** Continuations that one call may make. */
export const CONTINUATIONS_MAX = 100_000;
