import type { Throttling } from "../base/host-work-queue.ts";
import type { CapabilityEvent } from "../broker/capability-event.ts";
import { createCapabilities } from "../broker/capabilities/built-in.ts";
import { withoutSecrets } from "../broker/capabilities/env.ts";
import { Binaries } from "../broker/binaries.ts";
import type { SecretViolation } from "../broker/capabilities/secrets/placeholders.ts";
import { Secrets } from "../broker/capabilities/secrets/secrets.ts";
import { BrokerClient } from "../broker/thread/broker-client.ts";
import { sentStore } from "../store/store-factory.ts";
import type { ResolvedOptions } from "./options.ts";

/** Receives a broker's reports. */
interface BrokerListeners {
  readonly onOutcome: (event: CapabilityEvent) => void;
  readonly onSecretViolation: (violation: SecretViolation) => void;
  readonly onThreadDeath: (error: Error) => void;
  readonly onThrottled: (throttling: Throttling) => void;
}

/** Creates the broker of an engine from its capabilities and its policy. `binaries`: files of native tools. */
export function createBroker(
  options: ResolvedOptions,
  { onOutcome, onSecretViolation, onThreadDeath, onThrottled }: BrokerListeners,
  binaries: Binaries = new Binaries(),
): BrokerClient {
  const { capabilities: custom, fetch, kv, policy, broker: place } = options;
  const { modules } = options.plugins;
  const { lookup, connectMs, headersMs, idleMs } = fetch;
  const secrets = new Secrets(options.secrets, process.env);
  const environment = withoutSecrets(process.env, options.secrets);
  const parts = { environment, fetch, secrets, onSecretViolation };
  const sent = { fetch: { connectMs, headersMs, idleMs }, secrets: Secrets.resolved(options.secrets, secrets) };
  return new BrokerClient({
    capabilities: createCapabilities({ ...parts, custom, modules }),
    policy,
    binaries,
    place,
    settings: {
      ...sent,
      environment,
      kv: "factory" in kv ? sentStore(kv) : kv,
      listens: options.executor.kind === "process",
    },
    lookup,
    modules,
    onOutcome,
    onViolation: onSecretViolation,
    onThrottled,
    onDeath: onThreadDeath,
  });
}
