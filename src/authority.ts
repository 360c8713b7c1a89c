import { Broker } from "./broker/broker.ts";
import type { CapabilityEvent } from "./broker/capability-event.ts";
import { createCapabilities } from "./capabilities/built-in.ts";
import type { ResolvedOptions } from "./options.ts";

/** Makes the broker of an engine: what it can do at all, and what its policy allows of that. */
export function createBroker(options: ResolvedOptions, onOutcome: (event: CapabilityEvent) => void): Broker {
  const { capabilities: custom, fetch, secrets, kv } = options;
  const { capabilities, redact } = createCapabilities({ custom, environment: process.env, fetch, secrets, kv });
  return new Broker({ capabilities, policy: options.policy, redact, onOutcome });
}
