import { CLIENT_CAPABILITIES_META_KEY, type LoggingLevel, Server } from "@modelcontextprotocol/server";
import { memberOf } from "../../kernel/base/json.ts";
import type { RunOptions, ToolDescription, ToolRunner } from "../../standard/contracts.ts";
import type { McpTool } from "../../kernel/tool/contracts/mcp.ts";
import { forModel, type ModelOptions } from "../../kernel/tool/contracts/runner.ts";
import { callTool, describeTool } from "./call.ts";
import { ElicitedApprovals } from "./elicited-approval.ts";
import { addResources, cursorAfter, type ManPages, readCursor, RESOURCES } from "./resources.ts";

export interface McpServerOptions extends Pick<RunOptions, "tenant">, ModelOptions {
  /** Name and version, shown by clients. */
  readonly name: string;
  readonly version: string;
}

/** A runner whose client also gets manual pages, as resources, if there are any. */
export interface ServedRunner extends ToolRunner {
  readonly manPages?: ManPages;
}

/** Maximum number of tools in one page of `tools/list`, and of its characters as JSON: a schema may have a million. */
const PAGE = 100;
const PAGE_CHARACTERS = 4 * 1024 * 1024;

/**
 * Creates an MCP server that lists and calls a runner's tools. The caller connects it and sends notifications of
 * changed tools.
 */
export function createToolServer(
  runner: ServedRunner,
  { name, version, tenant, ...options }: McpServerOptions,
  answerMs?: number,
): Server {
  const { manPages } = runner;
  const tools = forModel(runner, options);
  const model = "readsOn" in tools && tools.readsOn ? tools : undefined;
  const hasResources = manPages !== undefined || model !== undefined;
  const waits = tools.waits?.(tenant === undefined ? {} : { tenant });
  const approvals = waits === undefined ? null : new ElicitedApprovals(waits, answerMs);
  const server = new Server(
    { name, version },
    {
      capabilities: { tools: { listChanged: true }, logging: {}, ...(hasResources ? RESOURCES : {}) },
      ...(approvals === null ? {} : { requestState: { verify: approvals.verify } }),
      debouncedNotificationMethods: ["notifications/tools/list_changed"],
    },
  );
  if (hasResources) addResources(server, { manPages, model }, tenant === undefined ? {} : { tenant });
  let level: LoggingLevel | undefined;
  server.setRequestHandler("logging/setLevel", ({ params }) => {
    ({ level } = params);
    return {};
  });
  server.setRequestHandler("tools/list", ({ params }) => pageOf(tools.list(), params?.cursor));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const revision = server.getNegotiatedProtocolVersion();
    const capabilities =
      memberOf(context.mcpReq.envelope, CLIENT_CAPABILITIES_META_KEY) ?? server.getClientCapabilities();
    const settings = { level, tenant, revision, approvals, capabilities };
    const called = await callTool(tools, params, context, settings);
    return "request" in called ? called.request : server.projectCallToolResult(called.result, called.outputSchema);
  });
  return server;
}

/** One page of the tools by name, after the cursor's. */
function pageOf(
  tools: readonly ToolDescription[],
  cursor: string | undefined,
): { tools: McpTool[]; nextCursor?: string } {
  const last = cursor === undefined ? "" : readCursor(cursor);
  const rest = tools.filter(({ name }) => name > last).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const page: McpTool[] = [];
  let characters = 0;
  for (const each of rest.slice(0, PAGE)) {
    const { tool, length } = describeTool(each);
    characters += length;
    if (page.length > 0 && characters > PAGE_CHARACTERS) break;
    page.push(tool);
  }
  const end = page.at(-1);
  if (end === undefined || rest.length === page.length) return { tools: page };
  return { tools: page, nextCursor: cursorAfter(end.name) };
}
