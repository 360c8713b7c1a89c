import { type CallToolResult, ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import { mcp, type RunOptions, type ToolDescription, type ToolRunner } from "../../contracts/index.ts";
import type { McpTool } from "../../contracts/mcp.ts";
import { underSender } from "../trace-context.ts";

/** What runs tools, and tells when there are others. */
export interface ChangingToolRunner extends ToolRunner {
  on(event: "tool:register" | "tool:unregister", listener: () => void): unknown;
  off(event: "tool:register" | "tool:unregister", listener: () => void): unknown;
}

export interface McpServerOptions extends Pick<RunOptions, "tenant"> {
  /** What the server is called, and its version: clients show it. */
  readonly name: string;
  readonly version: string;
}

/** Tools in one page of `tools/list`. */
const PAGE = 100;
const NAME_MAX = 128;

/**
 * A server of the Model Context Protocol that offers a runner's tools, to be connected to one client. A failed call is a
 * result with `isError`, a tool that there is not an error of the protocol. It is told when there are other tools, and a
 * client that cancels a request cancels its call.
 */
export function createMcpServer(runner: ChangingToolRunner, { name, version, tenant }: McpServerOptions): Server {
  const server = new Server(
    { name, version },
    {
      capabilities: { tools: { listChanged: true } },
      debouncedNotificationMethods: ["notifications/tools/list_changed"],
    },
  );
  server.setRequestHandler("tools/list", ({ params }) => pageOf(runner.list(), params?.cursor));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const tool = runner.get(params.name);
    if (tool === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name.slice(0, NAME_MAX)}`);
    }
    const options = { signal: mcpReq.signal, ...(tenant === undefined ? {} : { tenant }) };
    const result = await underSender(params._meta ?? {}, () => runner.execute(mcp.readCall(params), options));
    const { outputSchema } = mcp.writeTool(tool);
    const written: CallToolResult = mcp.writeResult(result);
    // A client may hold what is structured against the schema, also where it is a text.
    const promised = outputSchema !== undefined && result.success ? { structuredContent: result.output } : {};
    return server.projectCallToolResult({ ...written, ...promised }, outputSchema);
  });
  tellOfChanges(server, runner);
  return server;
}

/** One page of the tools in the order of their names, from behind the one that the cursor stands for. */
function pageOf(
  tools: readonly ToolDescription[],
  cursor: string | undefined,
): { tools: McpTool[]; nextCursor?: string } {
  const last = cursor === undefined ? "" : readCursor(cursor);
  const rest = tools.filter(({ name }) => name > last).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const page = rest.slice(0, PAGE).map((tool) => mcp.writeTool(tool));
  const end = page.at(-1);
  if (end === undefined || rest.length <= PAGE) return { tools: page };
  return { tools: page, nextCursor: Buffer.from(end.name).toString("base64url") };
}

function readCursor(cursor: string): string {
  const name = Buffer.from(cursor, "base64url").toString();
  if (/^[A-Za-z0-9_.-]{1,128}$/.test(name)) return name;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "the cursor is none that this server gave");
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
