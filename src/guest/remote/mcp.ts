import type { AskConnector, McpOperation } from "../host.ts";

/** Calls the tool of an MCP server, and reads its answer: the structured content, else one text, else the list of blocks. */
export async function callMcp(
  { connector, tool, isRead }: McpOperation,
  args: Readonly<Record<string, unknown>>,
  ask: AskConnector,
): Promise<unknown> {
  const answer = await ask("call", { connector, tool, isRead, arguments: JSON.stringify(args) });
  return JSON.parse(answer as string) as unknown;
}
