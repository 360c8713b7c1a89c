import type { RateLimit } from "../../broker/capabilities/rate-limit.ts";

interface ConnectorBase {
  /** Names of its operations that become tools, each of which may have `*` in it. Default: all. */
  readonly tools?: readonly string[];
  /**
   * Digest of the names, descriptions and schemas of its tools, as `glovebox connectors check` prints it. Another list is
   * not taken in.
   */
  readonly pin?: string;
  /** Calls of each tenant in a period. Default: no limit. */
  readonly rateLimit?: RateLimit;
  /** Requests under way at once; more wait. Default 16. */
  readonly concurrency?: number;
  /** Time for one request, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** `none`: tools have no descriptions of the server. */
  readonly descriptions?: "none";
  /** Whether its server may have a private address, also where its URL names none. Default: false. */
  readonly private?: boolean;
}

/** An MCP server. Values of headers and of variables may contain `{secret:NAME}`. */
export interface McpConnector extends ConnectorBase {
  readonly mcp: McpHttpServer | McpProcess;
  /** Whether tools that the server calls read-only or idempotent are. Default: false. */
  readonly trustAnnotations?: boolean;
}

/** A server of Streamable HTTP. */
export interface McpHttpServer {
  readonly url: string;
  readonly headers?: { readonly [name: string]: string };
}

/** A server that is a process of this machine, in a sandbox. */
export interface McpProcess {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: { readonly [name: string]: string };
  readonly cwd?: string;
}

/** A server with an OpenAPI document, version 3.0 or 3.1. Values of headers and of the query may contain `{secret:NAME}`. */
export interface OpenApiConnector extends ConnectorBase {
  readonly openapi: {
    /** Path of the document, JSON or YAML. */
    readonly document: string;
    /** URL of the server. Default: the document's first. */
    readonly server?: string;
  };
  readonly headers?: { readonly [name: string]: string };
  readonly query?: { readonly [name: string]: string };
}

/** A server whose operations become tools `name.operation`. */
export type ConnectorOptions = McpConnector | OpenApiConnector;
