/**
 * A session with an external MCP server. The client runs on a thread or in a process of its own: what the server says
 * crosses as text, and nobody on the engine's thread parses it.
 */
export interface McpSession extends AsyncDisposable {
  /** The server's tools as it lists them: a JSON list, which `readMcpTools` reads in a build process. */
  list(signal: AbortSignal): Promise<string>;
  /** A `CallToolResult` as JSON. `args`: a JSON object. Rejects with an `Error` whose message a tool may see. */
  call(tool: string, args: string, signal: AbortSignal): Promise<string>;
  /** Its list of tools has changed, or the connection was lost (`isUp` false) or came back. */
  readonly onChange: (listener: (change: { readonly isUp: boolean }) => void) => void;
}
