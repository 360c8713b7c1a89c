import { threadCapabilities } from "../capabilities/built-in.ts";
import { HELD_ELSEWHERE } from "../capabilities/native/binaries.ts";
import { Secrets } from "../capabilities/secrets/secrets.ts";
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

function serve({ fetch, secrets, hasLookup, groups }: ThreadSettings): ThreadServer {
  if (groups !== null) shareGroups(groups);
  return new ThreadServer(port, (own) =>
    threadCapabilities({
      binaries: HELD_ELSEWHERE,
      fetch: hasLookup ? { ...fetch, lookup: (hostname) => own.lookup(hostname) } : fetch,
      secrets: new Secrets(secrets, {}, alreadyWarned),
      onSecretViolation: (violation) => own.tell({ kind: "violation", violation }),
    }),
  );
}

/** The embedder's thread has read the same options. */
function alreadyWarned(): void {}
