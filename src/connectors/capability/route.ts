import type { LoginUse } from "../login/settings.ts";
import type { RateLimit } from "../../kernel/broker/capabilities/rate-limit.ts";

/** A connector as the broker reaches it: plain data, with placeholders of secrets. */
export interface ConnectorRoute {
  readonly name: string;
  /** URL below which all its requests are; `null` for a server that a session reaches. */
  readonly server: string | null;
  /** Whether the server may have an address that is not public. */
  readonly isPrivate: boolean;
  /** Added to each request, in place of the tool's own of that name. Names of headers are in lower case. */
  readonly headers: readonly NamedValue[];
  readonly query: readonly NamedValue[];
  /** Names of the secrets that its requests may carry. */
  readonly secrets: readonly string[];
  /** Source of tokens for its requests; `null` without one, and for a server with a session. */
  readonly login: LoginUse | null;
  readonly rateLimit: RateLimit | null;
  readonly concurrency: number;
  readonly timeoutMs: number;
}

export type NamedValue = readonly [name: string, value: string];

/** Calls a tool of a session's server. Resolves with a `CallToolResult` as JSON, which is not parsed here. */
export type CallSessionTool = (request: SessionToolCall, signal: AbortSignal) => Promise<string>;

export interface SessionToolCall {
  readonly connector: string;
  readonly tool: string;
  /** Tenant whose login the call uses, if each tenant has one. */
  readonly tenant: string;
  /** A JSON object. */
  readonly args: string;
  /** Number of the call, whose caller may listen to its progress. */
  readonly call: number | null;
  /** Whether the request may be retried at a busy server. */
  readonly isRepeatable: boolean;
}
