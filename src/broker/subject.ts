import type { CallBinary, CallTool } from "./capabilities/capability.ts";
import type { CapabilityResponse } from "../base/protocol/capability-call.ts";
import type { Limits } from "../base/limits.ts";
import type { CapabilityEvent } from "./capability-event.ts";
import type { GrantSubject } from "./grants.ts";

/** The call on whose behalf the broker acts. */
export interface BrokerSubject extends GrantSubject {
  readonly tenant: string;
  readonly callId: string;
  /** The call on whose behalf it is made, where a tool called it. */
  readonly parentId?: string | undefined;
  readonly limits: Pick<Limits, "capabilityCalls" | "capabilityBytes">;
  readonly callTool: (name: string, args: Record<string, unknown>, signal: AbortSignal) => ReturnType<CallTool>;
  /** What its tool is instead of a module. */
  readonly binary?: CallBinary | undefined;
  /** Is told of each ask as the host is. */
  readonly onOutcome?: ((event: CapabilityEvent) => void) | undefined;
}

/** An answer before its time is known. */
export type InvokeOutcome =
  | Omit<Extract<CapabilityResponse, { kind: "value" }>, "nowMs">
  | Omit<Extract<CapabilityResponse, { kind: "failure" }>, "nowMs">;
