import { parentPort } from "node:worker_threads";
import { importOptional } from "../../../kernel/base/optional-package.ts";
import { GloveboxError } from "../../../kernel/base/errors.ts";
import { shareGroups } from "../../../kernel/base/os/cgroup.ts";
import type { FromThread, ThreadSettings, ToThread } from "./messages.ts";
import { SessionThread } from "./session-thread.ts";

// Only messages of errors leave this thread, and a server can cause many.
Error.stackTraceLimit = 0;

const port = parentPort;
if (port === null) throw new TypeError("the thread of an MCP session is started by an engine");
const post = (message: FromThread): void => port.postMessage(message);
const end = (): void => port.close();

// The host sends the settings first: values of secrets are in no argument and in no variable.
port.once("message", (settings: ThreadSettings) => {
  if (settings.groups !== null) shareGroups(settings.groups);
  const waiting: ToThread[] = [];
  let receive = (message: ToThread): void => void waiting.push(message);
  port.on("message", (message: ToThread) => receive(message));
  importOptional(
    "an MCP connector",
    ["@modelcontextprotocol/client"],
    () => import("@modelcontextprotocol/client"),
  ).then(
    (sdk) => {
      const thread = new SessionThread(settings, sdk, post, end);
      receive = (message) => thread.receive(message);
      waiting.forEach(receive);
      void thread.open();
    },
    (error: unknown) => {
      if (!(error instanceof GloveboxError)) throw error;
      post({ kind: "missing" });
      end();
    },
  );
});
