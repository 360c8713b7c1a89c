import type { Failure } from "./messages.ts";

/** A capability call on its way to the broker. */
export interface CapabilityCall {
  /** Counts the call's asks from 1; the same step again when the call is run again. */
  readonly step: number;
  /** Which start of the call asks, from 1. */
  readonly attempt: number;
  /** The call's clock when it asked: it lags behind ours, and its answers' times have to be of the same clock. */
  readonly nowMs: number;
  /** How many answers this start of it had heard, where that is known: others were still on their way to it. */
  readonly heard?: number;
  readonly capability: string;
  readonly method: string;
  /** JSON. */
  readonly args: string;
}

/** The broker's answer. `diverged`: a call that was run again asked something else than before, so it must end. */
export type CapabilityResponse =
  | { readonly kind: "value"; readonly nowMs: number; readonly json: string }
  | { readonly kind: "failure"; readonly nowMs: number; readonly failure: Failure }
  | { readonly kind: "diverged"; readonly message: string };
