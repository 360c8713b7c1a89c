import "../../base/check-node.ts";
import type { Server } from "@modelcontextprotocol/server";
import type { ToolRunner } from "../../tool/contracts/index.ts";
import { createToolServer, type McpServerOptions } from "./tool-server.ts";

export type { McpServerOptions } from "./tool-server.ts";

/** What runs tools, and tells when there are others. */
export interface ChangingToolRunner extends ToolRunner {
  on(event: "tool:register" | "tool:unregister", listener: () => void): unknown;
  off(event: "tool:register" | "tool:unregister", listener: () => void): unknown;
}

/**
 * A server of the Model Context Protocol that offers a runner's tools, to be connected to one client. A failed call is a
 * result with `isError`, a tool that there is not an error of the protocol. It is told when there are other tools, and a
 * client that cancels a request cancels its call. A client that gives a token for it hears of a call's progress, and one
 * that asks for a level hears what tools log.
 */
export function createMcpServer(runner: ChangingToolRunner, options: McpServerOptions): Server {
  const server = createToolServer(runner, options);
  tellOfChanges(server, runner);
  return server;
}

function tellOfChanges(server: Server, runner: ChangingToolRunner): void {
  const tell = (): void => {
    // Who is not connected need not be told: it asks when it is.
    if (server.transport !== undefined) server.sendToolListChanged().catch(() => undefined);
  };
  runner.on("tool:register", tell);
  runner.on("tool:unregister", tell);
  server.onclose = () => {
    runner.off("tool:register", tell);
    runner.off("tool:unregister", tell);
  };
}
