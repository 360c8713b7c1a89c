import { openEnginePort } from "./engine-port.ts";
import type { FromThread, ThreadSettings, ToThread } from "./messages.ts";
import { PipeServer } from "./pipe-server.ts";
import type { ThreadServer } from "./thread-server.ts";

// A server can make undici create thousands of errors for one response, which takes four times as long with stacks. Only
// messages of errors leave this thread.
Error.stackTraceLimit = 0;

const port = openEnginePort();
const pipes = new PipeServer();
let starting: Promise<ThreadServer> | null = null;
let server: ThreadServer | null = null;

// The engine sends the settings first: no argument and no variable contains values of secrets.
port.onMessage((message) => {
  if (starting === null) starting = start(message as ThreadSettings);
  else if (server !== null) server.receive(message as readonly ToThread[]);
  else void starting.then((started) => started.receive(message as readonly ToThread[]));
});

/** Executor processes wait for the name of the socket, so it is sent before all else is loaded. */
async function start(settings: ThreadSettings): Promise<ThreadServer> {
  const tell = (path: string | null): void => port.post([{ kind: "listening", path } satisfies FromThread]);
  if (settings.listens) void pipes.listen().then(tell, () => tell(null));
  const { serve } = await import("./serve.ts");
  return (server = await serve(port, pipes, settings));
}
