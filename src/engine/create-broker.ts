import { HostWorkQueue, type Throttling } from "../base/host-work-queue.ts";
import { Broker } from "../broker/broker.ts";
import type { CapabilityEvent } from "../broker/capability-event.ts";
import { createCapabilities } from "../broker/capabilities/built-in.ts";
import type { SecretViolation } from "../broker/capabilities/secrets/placeholders.ts";
import { Binaries } from "../broker/capabilities/native/binaries.ts";
import type { ResolvedOptions } from "./options.ts";

/** Receives what a broker reports. */
interface BrokerListeners {
  readonly onOutcome: (event: CapabilityEvent) => void;
  readonly onSecretViolation: (violation: SecretViolation) => void;
  readonly onThrottled: (throttling: Throttling) => void;
}

/** Creates the broker of an engine from its capabilities and its policy. `binaries`: files of native tools. */
export function createBroker(
  options: ResolvedOptions,
  { onOutcome, onSecretViolation, onThrottled }: BrokerListeners,
  binaries: Binaries = new Binaries(),
): Broker {
  const { capabilities: custom, fetch, secrets, kv } = options;
  const given = { custom, environment: process.env, fetch, secrets, kv, binaries, onSecretViolation };
  const work = new HostWorkQueue({ onThrottled });
  return new Broker({ capabilities: createCapabilities(given), policy: options.policy, onOutcome, work });
}
