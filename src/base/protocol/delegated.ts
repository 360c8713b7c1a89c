import type { CapabilityResponse } from "./capability-call.ts";
import type { DelegatedAnswer, Delegation } from "./delegation.ts";

/** What came of an ask that the machine that runs the call was to carry out. */
export type Told = DelegatedAnswer<Exclude<CapabilityResponse, { readonly kind: "diverged" }>>;

/** The broker of a call of which the machine that runs it may carry something out. */
export interface Delegator {
  readonly delegation: Delegation;
  /** What came of an ask that a machine was to carry out. */
  tell(told: Told): void;
  /** The machine is heard no more: what it has not told is carried out by the broker, when it is asked for again. */
  loseMachine(): void;
}
