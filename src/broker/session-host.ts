import type { Capability } from "./capabilities/capability.ts";
import type { CapabilityCall } from "../base/protocol/capability-call.ts";
import type { Validator } from "../base/schema/schema.ts";
import type { CapabilityEvent, CapabilityOutcome, EventSubject } from "./capability-event.ts";

/** A method's schemas, compiled when it is first called. */
export interface MethodChecks {
  readonly input: Validator | null;
  readonly output: Validator | null;
  /** Nothing is changed by it. */
  readonly isRead: boolean;
}

/** What sessions need of their broker. */
export interface SessionHost {
  readonly redact: (text: string) => string;
  /** Nothing where the capability has no such method. */
  checks(capability: Capability, method: string): MethodChecks | undefined;
  note(subject: EventSubject, ask: CapabilityCall, outcome: CapabilityOutcome, cost?: Partial<CapabilityEvent>): void;
  track(closing: void | Promise<void>): void;
}
