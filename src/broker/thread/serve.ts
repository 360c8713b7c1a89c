import type { LoginReport } from "../../base/connector-report.ts";
import { RemoteServers } from "../capabilities/connector/connector.ts";
import type { CallSessionTool } from "../capabilities/connector/route.ts";
import { HELD_ELSEWHERE } from "../capabilities/native/binaries.ts";
import type { SecretViolation } from "../capabilities/secrets/placeholders.ts";
import { Secrets } from "../capabilities/secrets/secrets.ts";
import { threadCapabilities } from "../capabilities/thread-capabilities.ts";
import { shareGroups } from "../../base/os/cgroup.ts";
import type { EnginePort } from "./engine-port.ts";
import type { ThreadSettings } from "./messages.ts";
import type { PipeServer } from "./pipe-server.ts";
import { ThreadServer } from "./thread-server.ts";

/** Serves an engine with its settings. */
export function serve(port: EnginePort, pipes: PipeServer, settings: ThreadSettings): ThreadServer {
  const { fetch, environment, kv, host, hasLookup, groups, routes } = settings;
  if (groups !== null) shareGroups(groups);
  const secrets = new Secrets(settings.secrets, {}, alreadyWarned);
  const createParts = (own: ThreadServer) => {
    const onSecretViolation = (violation: SecretViolation): void => own.tell({ kind: "violation", violation });
    const options = hasLookup ? { ...fetch, lookup: (hostname: string) => own.lookup(hostname) } : fetch;
    const callTool: CallSessionTool = (call, signal) => own.callTool(call, signal);
    const onLogin = (report: LoginReport): void => own.tell({ kind: "login", report });
    const servers = new RemoteServers({ fetch: options, secrets, callTool, onViolation: onSecretViolation, onLogin });
    servers.use(routes);
    const parts = { binaries: HELD_ELSEWHERE, environment, fetch: options, kv, secrets, servers, onSecretViolation };
    return { capabilities: threadCapabilities(parts), host, servers };
  };
  return new ThreadServer(port, createParts, pipes);
}

/** The embedder's thread has read the same options. */
function alreadyWarned(): void {}
