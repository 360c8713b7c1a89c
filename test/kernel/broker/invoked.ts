import type { CallSession } from "../../../src/kernel/broker/call-session.ts";
import type { CapabilityCall, CapabilityResponse, Diverged } from "../../../src/kernel/executor/executor.ts";

/** The response of a session to a capability call. */
export function invoked(session: CallSession, call: CapabilityCall): Promise<CapabilityResponse | Diverged> {
  return new Promise((resolve) => session.invoke(call, resolve));
}
