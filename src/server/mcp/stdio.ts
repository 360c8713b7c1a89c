import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { type ChangingToolRunner, createMcpServer, type McpServerOptions } from "./server.ts";

/** A client connected through this process's stdin and stdout. */
export interface McpConnection {
  /** Resolves when the client disconnects, sends a message that is too long, or the connection is closed. */
  readonly closed: Promise<void>;
  /** Closes the connection and cancels its running calls. */
  close(): Promise<void>;
}

/** Serves the client that started this process. `onProblem` receives invalid messages. */
export function serveMcp(
  runner: ChangingToolRunner,
  options: McpServerOptions,
  onProblem: (problem: Error) => void,
): McpConnection {
  const transport = new Pipe();
  const served = serveStdio(() => createMcpServer(runner, options), { transport, onerror: onProblem });
  return { closed: transport.closed, close: () => served.close() };
}

/** Transport over stdin and stdout, with a promise of its end. */
class Pipe extends StdioServerTransport {
  readonly #closed = Promise.withResolvers<void>();
  readonly closed = this.#closed.promise;

  override async close(): Promise<void> {
    await super.close();
    this.#closed.resolve();
  }
}
