import type { FetchOptions } from "../../../broker/capabilities/fetch/connections.ts";
import type { SecretOptions } from "../../../broker/capabilities/secrets/secrets.ts";
import type { McpSource } from "../options.ts";

/**
 * A session with an external MCP server. The client runs on a thread or in a process of its own: what the server says
 * crosses as text, and nobody on the engine's thread parses it. It connects with the first request, and again with the
 * first after it was lost.
 */
export interface McpSession extends AsyncDisposable {
  /** The server's tools as it lists them: a JSON list of `Tool`, which `readMcpTools` reads in a build process. */
  list(signal: AbortSignal): Promise<string>;
  /** A `CallToolResult` as JSON. `args`: a JSON object. Rejects with an `Error` whose message a tool may see. */
  call(tool: string, args: string, signal: AbortSignal): Promise<string>;
}

export interface McpSessionOptions {
  readonly name: string;
  /** Values of headers and variables contain placeholders of `secrets`. */
  readonly source: McpSource;
  readonly isPrivate: boolean;
  readonly timeoutMs: number;
  /** The connector's secrets, with their values. */
  readonly secrets: { readonly [name: string]: SecretOptions };
  readonly fetch: FetchOptions;
  /** Its list of tools has changed, or the connection was lost. */
  readonly onChange: (change: "list" | "lost") => void;
}
