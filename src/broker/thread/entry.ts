import { RemoteServers } from "../capabilities/connector/connector.ts";
import type { CallSessionTool } from "../capabilities/connector/route.ts";
import { HELD_ELSEWHERE } from "../capabilities/native/binaries.ts";
import type { SecretViolation } from "../capabilities/secrets/placeholders.ts";
import { Secrets } from "../capabilities/secrets/secrets.ts";
import { threadCapabilities } from "../capabilities/thread-capabilities.ts";
import type { LoginReport } from "../login/settings.ts";
import { shareGroups } from "../../base/os/cgroup.ts";
import { openEnginePort } from "./engine-port.ts";
import type { ThreadSettings, ToThread } from "./messages.ts";
import { ThreadServer } from "./thread-server.ts";

// A server can make undici create thousands of errors for one response, which takes four times as long with stacks. Only
// messages of errors leave this thread.
Error.stackTraceLimit = 0;

const port = openEnginePort();
let server: ThreadServer | null = null;

// The engine sends the settings first: values of secrets are in no argument and in no variable.
port.onMessage((message) => {
  if (server === null) server = serve(message as ThreadSettings);
  else server.receive(message as readonly ToThread[]);
});

function serve({
  fetch,
  secrets: given,
  environment,
  kv,
  host,
  hasLookup,
  groups,
  routes,
  listens,
}: ThreadSettings): ThreadServer {
  if (groups !== null) shareGroups(groups);
  const secrets = new Secrets(given, {}, alreadyWarned);
  const serving = new ThreadServer(port, (own) => {
    const onSecretViolation = (violation: SecretViolation): void => own.tell({ kind: "violation", violation });
    const options = hasLookup ? { ...fetch, lookup: (hostname: string) => own.lookup(hostname) } : fetch;
    const callTool: CallSessionTool = (call, signal) => own.callTool(call, signal);
    const onLogin = (report: LoginReport): void => own.tell({ kind: "login", report });
    const servers = new RemoteServers({ fetch: options, secrets, callTool, onViolation: onSecretViolation, onLogin });
    servers.use(routes);
    const parts = { binaries: HELD_ELSEWHERE, environment, fetch: options, kv, secrets, servers, onSecretViolation };
    return { capabilities: threadCapabilities(parts), host, servers };
  });
  if (listens) serving.listen();
  return serving;
}

/** The embedder's thread has read the same options. */
function alreadyWarned(): void {}
