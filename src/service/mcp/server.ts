import "../../base/check-node.ts";
import type { Server } from "@modelcontextprotocol/server";
import type { ToolRunner } from "../../tool/contracts/index.ts";
import { createToolServer, type McpServerOptions } from "./tool-server.ts";

export type { McpServerOptions } from "./tool-server.ts";

/** A tool runner that emits changes of its tools. */
export interface ChangingToolRunner extends ToolRunner {
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
  tellOfChanges(server, runner);
  return server;
}

function tellOfChanges(server: Server, runner: ChangingToolRunner): void {
  const tell = (): void => {
    // A client that connects later requests the list itself.
    if (server.transport !== undefined) server.sendToolListChanged().catch(() => undefined);
  };
  runner.on("tool:register", tell);
  runner.on("tool:unregister", tell);
  server.onclose = () => {
    runner.off("tool:register", tell);
    runner.off("tool:unregister", tell);
  };
}
