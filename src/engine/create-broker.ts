import { HostWorkQueue, type Throttling } from "../base/host-work-queue.ts";
import { Broker } from "../broker/broker.ts";
import type { CapabilityEvent } from "../broker/capability-event.ts";
import { createCapabilities } from "../broker/capabilities/built-in.ts";
import { Binaries } from "../broker/capabilities/native/binaries.ts";
import type { ResolvedOptions } from "./options.ts";

/** Creates the broker of an engine from its capabilities and its policy. `binaries`: files of native tools. */
export function createBroker(
  options: ResolvedOptions,
  onOutcome: (event: CapabilityEvent) => void,
  binaries: Binaries = new Binaries(),
  onThrottled: (throttling: Throttling) => void = () => undefined,
): Broker {
  const { capabilities: custom, fetch, secrets, kv } = options;
  const environment = process.env;
  const { capabilities, redact } = createCapabilities({ custom, environment, fetch, secrets, kv, binaries });
  return new Broker({
    capabilities,
    policy: options.policy,
    redact,
    onOutcome,
    work: new HostWorkQueue({ onThrottled }),
  });
}
