import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { type ChangingToolRunner, createMcpServer, type McpServerOptions } from "./server.ts";

/** A client that is served over this process's stdin and stdout. */
export interface McpConnection {
  /** Resolves when the client is gone, or has sent a message that is too long, or the connection was closed. */
  readonly closed: Promise<void>;
  /** Cancels the calls that still run. */
  close(): Promise<void>;
}

/** Serves one client, which has started this process. `onProblem` receives invalid messages. */
export function serveMcp(
  runner: ChangingToolRunner,
  options: McpServerOptions,
  onProblem: (problem: Error) => void,
): McpConnection {
  const transport = new Pipe();
  const served = serveStdio(() => createMcpServer(runner, options), { transport, onerror: onProblem });
  return { closed: transport.closed, close: () => served.close() };
}

/** Stdin and stdout, and when they are done with. */
class Pipe extends StdioServerTransport {
  readonly #closed = Promise.withResolvers<void>();
  readonly closed = this.#closed.promise;

  override async close(): Promise<void> {
    await super.close();
    this.#closed.resolve();
  }
}
