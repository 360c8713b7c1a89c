import { HostWorkQueue, type Throttling } from "../base/host-work-queue.ts";
import { Broker } from "../broker/broker.ts";
import type { CapabilityEvent } from "../broker/capability-event.ts";
import { createCapabilities } from "../broker/capabilities/built-in.ts";
import { RemoteServers } from "../broker/capabilities/connector/connector.ts";
import type { CallSessionTool } from "../broker/capabilities/connector/route.ts";
import { Secrets } from "../broker/capabilities/secrets/secrets.ts";
import { BrokerThread } from "../broker/thread/broker-thread.ts";
import { remoteCapability } from "../broker/thread/remote-capability.ts";
import type { LoginReport } from "../broker/login/settings.ts";
import type { SecretViolation } from "../broker/capabilities/secrets/placeholders.ts";
import { Binaries } from "../broker/capabilities/native/binaries.ts";
import type { ResolvedOptions } from "./options.ts";

/** Receives what a broker reports. */
interface BrokerListeners {
  readonly onOutcome: (event: CapabilityEvent) => void;
  readonly callTool: CallSessionTool;
  readonly onSecretViolation: (violation: SecretViolation) => void;
  readonly onThreadDeath: (error: Error) => void;
  readonly onThrottled: (throttling: Throttling) => void;
  readonly onLogin: (report: LoginReport) => void;
}

/** Creates the broker of an engine from its capabilities and its policy. `binaries`: files of native tools. */
export function createBroker(
  options: ResolvedOptions,
  { onOutcome, callTool, onSecretViolation, onThreadDeath, onThrottled, onLogin }: BrokerListeners,
  binaries: Binaries = new Binaries(),
): Broker {
  const { capabilities: custom, fetch, kv } = options;
  const { lookup, connectMs, headersMs, idleMs } = fetch;
  const environment = process.env;
  const secrets = new Secrets(options.secrets, environment);
  const thread = new BrokerThread({
    place: options.broker,
    settings: { fetch: { connectMs, headersMs, idleMs }, secrets: Secrets.resolved(options.secrets, secrets) },
    lookup,
    callTool,
    onViolation: onSecretViolation,
    onThrottled,
    onLogin,
    onDeath: onThreadDeath,
  });
  const capabilities = createCapabilities({
    custom,
    environment,
    fetch,
    secrets,
    servers: new RemoteServers({ fetch, secrets, callTool, onViolation: onSecretViolation, onLogin }),
    secretOptions: options.secrets,
    kv,
    binaries,
    onSecretViolation,
    place: (capability) => remoteCapability(capability, thread, binaries),
  });
  const work = new HostWorkQueue({ onThrottled });
  return new Broker({ capabilities, policy: options.policy, onOutcome, work, thread });
}
