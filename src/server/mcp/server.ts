import "../../kernel/base/check-node.ts";
import type { Server } from "@modelcontextprotocol/server";
import { createToolServer, type McpServerOptions, type ServedRunner } from "./tool-server.ts";

export type { McpServerOptions } from "./tool-server.ts";

/** A tool runner that emits changes of its tools. */
export interface ChangingToolRunner extends ServedRunner {
  on(event: "tool:register" | "tool:unregister", listener: () => void): unknown;
  off(event: "tool:register" | "tool:unregister", listener: () => void): unknown;
}

/**
 * Creates a Model Context Protocol server for a runner's tools, to be connected to one client. A failed call is a
 * result with `isError`, an unknown tool a protocol error. The client is notified of changed tools, of a call's
 * progress if it sends a token, and of log lines if it sets a level. Cancelling a request cancels its call.
 */
export function createMcpServer(runner: ChangingToolRunner, options: McpServerOptions): Server {
  const server = createToolServer(runner, options);
  notifyOfChanges(server, runner);
  return server;
}

function notifyOfChanges(server: Server, runner: ChangingToolRunner): void {
  const notify = (): void => {
    // A client that connects later requests the list itself.
    if (server.transport !== undefined) server.sendToolListChanged().catch(() => undefined);
  };
  runner.on("tool:register", notify);
  runner.on("tool:unregister", notify);
  server.onclose = () => {
    runner.off("tool:register", notify);
    runner.off("tool:unregister", notify);
  };
}
