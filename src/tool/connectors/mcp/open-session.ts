import type { McpSession, McpSessionOptions } from "./mcp-session.ts";

/** Makes a session with an MCP server. Connects with the first request. */
export function openMcpSession({ name }: McpSessionOptions): McpSession {
  const failed = (): Promise<never> => Promise.reject(new Error(`${name} is not connected`));
  return { list: failed, call: failed, [Symbol.asyncDispose]: () => Promise.resolve() };
}
